#ifndef BRIDGE_FRAMES_CHANNEL_H
#define BRIDGE_FRAMES_CHANNEL_H

/*
 * The two descriptors over which `einkorn frames` speaks with its host: lines
 * in, lines out. They lie where cells do not look (above 255, where the limit
 * allows that), and fd 0, 1 and 2 are the cells' own: 0 is /dev/null, 1 the same
 * as 2.
 *
 * Published in `sys`, for whoever speaks the protocol too; each is looked up
 * again at every use and believed only if it still is the pipe by (st_dev, st_ino):
 *
 *   _openai4s_protocol_stdin, _openai4s_protocol_stdout   file objects
 *   _openai4s_proto_in_reserve    fd number; None: used up; -1: there never was one
 *   _openai4s_protocol_ident      (st_dev, st_ino) of the way in
 *   _openai4s_parked_wrappers     file objects that may not be closed any more
 *
 * A way that a cell has closed or covered is made anew, once, from a reserve.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* Takes fd 0 and 1 over. Main thread, once. -> 0, -1 with an exception. */
int py_channel_open(void);

/* Both ways over one socket, which it takes; there is no reserve. -> 0, -1. */
int py_channel_open_socket(int fd);

/*
 * The next line, without its newline, as new bytes; NULL at the end of it all. Waits
 * without the GIL; one thread at a time. -> 0, -1: a signal's handler raised, or the way
 * in is lost (RuntimeError).
 */
int py_channel_read_line(PyObject **ret_line);

/* The way in is gone for good, and nothing will ever be read again. */
bool channel_is_lost(void);

/*
 * Writing, in three steps: looks the way out up; writes all of it, whatever signals come,
 * without the GIL and by one thread at a time (-> 0, -errno); sees to what sys shows of
 * it, and makes the error an exception (-> 0, -1).
 */
void py_channel_look(void);
int channel_write(const void *p, size_t n);
int py_channel_written(int error);

#endif
