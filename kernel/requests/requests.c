/*
 * The table of requests. Runs in the kernel process.
 */

#include "kernel/requests/requests.h"

static const struct request_type request_types[] = {
    /* name, handler, replies, queued */
    {"kernel_info_request", request_kernel_info, true, false},
    {"execute_request", request_execute, true, true},
    {"interrupt_request", request_interrupt, true, false},
    {"shutdown_request", request_shutdown, true, true},
    {"connect_request", request_connect, true, false},
    {"complete_request", request_python, true, true},
    {"inspect_request", request_python, true, true},
    {"history_request", request_history, true, true},
    {"is_complete_request", request_python, true, true},
    {"comm_info_request", request_comm_info, true, false},
    {"debug_request", request_unsupported, true, false},
    {"usage_request", request_unsupported, true, false},
    {"create_subshell_request", request_unsupported, true, false},
    {"delete_subshell_request", request_unsupported, true, false},
    {"list_subshell_request", request_unsupported, true, false},
    {"comm_open", request_python, false, true},
    {"comm_msg", request_python, false, true},
    {"comm_close", request_python, false, true},
};

const struct request_type *request_type_find(struct slice name)
{
    for (size_t i = 0; i < sizeof request_types / sizeof request_types[0]; i++) {
        if (slice_is(name, request_types[i].name)) {
            return &request_types[i];
        }
    }
    return NULL;
}
