#ifndef BRIDGE_FATAL_H
#define BRIDGE_FATAL_H

/*
 * What a dying worker says about its death, beside the Python stack that
 * faulthandler writes. It goes into the side pipe:
 *
 *   FATAL_NOTE <signal> <si_code> <address> <stack pointer> <sender>\n   before the Python stack
 *   FATAL_NATIVE <one line per frame>                                    after it
 */

#define FATAL_NOTE   "einkorn-fault"
#define FATAL_NATIVE "Native stack (innermost first):\n"

/*
 * Two handlers, one before and one behind faulthandler's: call
 * fatal_install_behind before faulthandler.enable() and fatal_install_before
 * after it. `side_fd` is the write end of the side pipe.
 */
void fatal_install_behind(int side_fd);
void fatal_install_before(void);

/* Loads what unwinds stacks, so that no crash has to. 0.1 ms: when nobody waits. */
void fatal_prepare(void);

#endif
