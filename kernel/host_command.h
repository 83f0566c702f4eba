#ifndef KERNEL_HOST_COMMAND_H
#define KERNEL_HOST_COMMAND_H

/*
 * What is run as a worker.
 */

#include "kernel/host.h"

struct host_command {
    const char *argv[5];
    char *einkorn, *python;  /* absolute where there is a slash in what was given */
    const char *interpreter; /* for host_environment; NULL: the command is not ours */
};

/* options->argv, or `einkorn frames --python PYTHON`. */
void host_command_init(struct host_command *self, const struct host_options *options);
void host_command_release(struct host_command *self);

/* The command for host_pipe_transport. */
const char *const *host_command_argv(const struct host_command *self,
                                     const struct host_options *options);

#endif
