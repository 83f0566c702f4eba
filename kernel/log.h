#ifndef KERNEL_LOG_H
#define KERNEL_LOG_H

/*
 * One line per event on stderr, or in the file of --log: "einkorn: text
 * key=value". Never code, outputs or the key. A full or closed stderr loses
 * lines and never blocks: the fd is written to only when poll says it takes
 * bytes. Lines are cut at 4 KiB; control characters in them become spaces.
 * Before log_init: stderr, LEVEL_INFO. main ignores SIGPIPE. errno is kept.
 * One per process: the program's, also for einkorn-kernel.so ("default").
 */

/* Not LOG_…: those are names of syslog.h, which czmq.h includes. */
enum log_level { LEVEL_ERROR, LEVEL_WARNING, LEVEL_INFO, LEVEL_DEBUG };

#pragma GCC visibility push(default)

/* Where to and how much; called once at start. fd is not owned. */
void log_init(int fd, enum log_level level);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#pragma GCC visibility pop

#endif
