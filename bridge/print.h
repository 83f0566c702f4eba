#ifndef BRIDGE_PRINT_H
#define BRIDGE_PRINT_H

/*
 * builtins.print of the worker. It does what Python's own does, in the same
 * order, but what one call prints to a stream of ours goes out in one piece
 * where that is possible.
 */

/*
 * After py_streams_init: puts it into builtins, unless the print there is not
 * Python's own any more. -> 0, -1 with an exception.
 */
int py_print_init(void);

#endif
