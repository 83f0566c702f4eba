#ifndef KERNEL_OVERWRITTEN_H
#define KERNEL_OVERWRITTEN_H

/*
 * Text that a later carriage return overwrites: the states of a progress bar
 * that nobody can see any more.
 *
 * Who shows a stream handles "\r" in one of two ways. JupyterLab, VS Code and
 * terminals write over the line from its beginning, so a shorter text leaves
 * the end of a longer one to be seen. nbclient and nbconvert clear the line, if
 * no line end follows. What goes away here goes away in both.
 */

#include "bridge/buffer.h"

/*
 * Removes from `text` (valid UTF-8, the next piece of a stream, whatever came
 * before and will follow) each stretch between two returns that a later stretch
 * of the same line covers for certain, with its return: both are of characters
 * that take one column each, and the later one is no shorter. Of several returns
 * in a row, two are left.
 */
void overwritten_drop(struct buffer *text);

#endif
