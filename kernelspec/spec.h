#ifndef KERNELSPEC_SPEC_H
#define KERNELSPEC_SPEC_H

/*
 * A kernelspec: the directory kernels/<name> with kernel.json and the logos.
 * Jupyter's rules: "Making kernels for Jupyter", section "Kernel specs" of the
 * jupyter_client documentation. One is ours if its metadata say "einkorn".
 */

#include <jansson.h>
#include <stdbool.h>

#include "kernel/options.h"

/* Jupyter's data directory of the user, as jupyter_core finds it. NULL: no home. The caller's. */
char *spec_user_data(void);

/*
 * The directory that install and uninstall mean; `prefix` is sys.prefix, looked
 * at for --sys-prefix only. NULL: --user without a home. The caller's.
 */
char *spec_directory(const struct options *options, const char *prefix);

/* Its kernel.json; NULL: there is none that Jupyter could read. The caller's. */
json_t *spec_read(const char *directory);

enum spec_owner { SPEC_NONE, SPEC_OURS, SPEC_FOREIGN };
enum spec_owner spec_owner(const char *directory);

/*
 * Writes the logos of `logos` and then kernel.json: Jupyter takes a directory
 * for a kernel by that file, so it never sees half of one, and an older one in
 * the same place is replaced without a moment in which there is none. A foreign
 * one is kept in a directory inside, which spec_remove empties. -> 0, -errno.
 */
int spec_write(const char *directory, const char *logos, const char *json);

/*
 * Removes ours: what spec_write wrote, and the directory if nothing else is in
 * it. A foreign one that was kept comes back. -> 0, -errno.
 */
int spec_remove(const char *directory, bool *ret_restored);

#endif
