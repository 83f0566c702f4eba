#ifndef BRIDGE_FRAMES_REMOTE_H
#define BRIDGE_FRAMES_REMOTE_H

/*
 * A worker that runs elsewhere dials its host: OPENAI4S_WORKER_CONNECT is host:port,
 * and a file of its own has what proves who it is.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/*
 * Connects and shakes hands; sets sys._openai4s_remote_generation. *ret_fd stays as it is
 * where there is nobody to dial. Does not return where it fails: one line on stderr, exit
 * status 70; never is a pipe taken in the place of a host. -> 0, -1 with an exception.
 */
int py_frames_dial(int *ret_fd);

#endif
