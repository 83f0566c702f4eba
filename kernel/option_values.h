#ifndef KERNEL_OPTION_VALUES_H
#define KERNEL_OPTION_VALUES_H

/*
 * What stands behind an option: numbers, and a few words. Strict: nothing but the number
 * and its unit, no sign, no blank. Each -> 0, -EINVAL with *ret untouched.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "1000": how many. */
int option_count(const char *text, size_t *ret_count);

/* "30" or "0.5": seconds, up to a year. -> milliseconds; below one of them counts as one. */
int option_seconds(const char *text, int64_t *ret_ms);

/* "1048576", "512K", "512M", "2G", "1T"; also "512MB", "512MiB", small letters: all of 1024. */
int option_size(const char *text, uint64_t *ret_bytes);

/* "True", "true", "1", "False", "false", "0": what traitlets takes for a boolean. */
int option_truth(const char *text, bool *ret_truth);

/* "error", "warning", "info", "debug". -> an enum log_level. */
int option_level(const char *text, int *ret_level);

/* A name that a kernel may have: Jupyter's rule, and neither "." nor "..", which it forgot. */
int option_kernel_name(const char *text);

#endif
