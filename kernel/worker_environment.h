#ifndef KERNEL_WORKER_ENVIRONMENT_H
#define KERNEL_WORKER_ENVIRONMENT_H

/*
 * The environment that user code sees, for execve. It is `environment` with
 *
 *   TERM=xterm-color, PAGER=cat, GIT_PAGER=cat   always: what einkorn inherited
 *       describes a terminal, and that is not where a cell's output goes;
 *   CLICOLOR=1, FORCE_COLOR=1, CLICOLOR_FORCE=1  unless the user has set them,
 *       or a NO_COLOR that is not empty: outputs are shown with their colours.
 *
 * ipykernel sets the same. The array is the caller's, to be freed; its strings
 * are those of `environment`, or constants.
 */
char **worker_environment_new(char *const *environment);

#endif
