#ifndef KERNEL_REQUESTS_REQUESTS_H
#define KERNEL_REQUESTS_REQUESTS_H

/*
 * The requests that clients send on shell and control, one file for each. A
 * new message type is a file here, a declaration below and a row in
 * request_types (requests.c).
 */

#include <stdbool.h>

#include "kernel/kernel.h"

struct request_type {
    const char *name;
    /*
     * Sends the reply (reply.h), if the type has one. Metadata and content are
     * JSON objects when it is called, unless `queued`. All is borrowed.
     */
    void (*handle)(struct kernel *kernel, struct origin *origin,
                   const struct wire_message *message);
    bool replies; /* false: comm messages */
    bool queued;  /* answered later: busy, idle and bad content are the handler's matter */
};

/* The type with that name; NULL: unknown. */
const struct request_type *request_type_find(struct slice name);

/* Each implements the section of the Messaging spec that has its name. */
void request_kernel_info(struct kernel *kernel, struct origin *origin,
                         const struct wire_message *message);
/* Appends the content of its reply. `version`: Python's. */
void kernel_info_put(const char *version, struct buffer *ret_content);
void request_connect(struct kernel *kernel, struct origin *origin,
                     const struct wire_message *message);
void request_execute(struct kernel *kernel, struct origin *origin,
                     const struct wire_message *message);
void request_interrupt(struct kernel *kernel, struct origin *origin,
                       const struct wire_message *message);
void request_shutdown(struct kernel *kernel, struct origin *origin,
                      const struct wire_message *message);

/* Answers the shutdown requests that wait: the cell that ran has ended. */
void shutdown_answer(struct kernel *kernel);

/* Known to the spec, not served by this kernel: an error reply that says so. */
void request_unsupported(struct kernel *kernel, struct origin *origin,
                         const struct wire_message *message);

void request_history(struct kernel *kernel, struct origin *origin,
                     const struct wire_message *message);
void request_comm_info(struct kernel *kernel, struct origin *origin,
                       const struct wire_message *message);

/* All that Python answers but execute: introspection, completion, comms. */
void request_python(struct kernel *kernel, struct origin *origin,
                    const struct wire_message *message);

#endif
