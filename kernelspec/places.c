/*
 * Looks for our kernelspecs in Jupyter's directories. Kernel process, in
 * `einkorn doctor`. Owns nothing for longer than a call.
 */

#include "kernelspec/places.h"

#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/xalloc.h"
#include "kernelspec/files.h"
#include "kernelspec/spec.h"

struct search {
    char **data; /* directories, each once */
    size_t count;
    void (*visit)(const struct place *place, void *arg);
    void *arg;
    size_t found;
};

/* Takes the text; NULL and what is there already are dropped. */
static void add(struct search *self, char *data)
{
    bool known = data == NULL || *data == '\0';
    for (size_t i = 0; !known && i < self->count; i++) {
        known = strcmp(self->data[i], data) == 0;
    }
    if (known) {
        free(data);
        return;
    }
    self->data = xrealloc(self->data, (self->count + 1) * sizeof *self->data);
    self->data[self->count++] = data;
}

static void add_jupyter_path(struct search *self)
{
    const char *path = getenv("JUPYTER_PATH");
    while (path && *path) {
        size_t n = strcspn(path, ":");
        add(self, text_format("%.*s", (int)n, path));
        path += n + (path[n] == ':' ? 1 : 0);
    }
}

/* What stands behind a word in argv; NULL: it is not there. */
static const char *option_value(const json_t *argv, const char *option)
{
    for (size_t i = 1; i + 1 < json_array_size(argv); i++) {
        const char *word = json_string_value(json_array_get(argv, i));
        if (word && strcmp(word, option) == 0) {
            return json_string_value(json_array_get(argv, i + 1));
        }
    }
    return NULL;
}

static void look_at(struct search *self, const char *data, const char *name)
{
    char *directory = text_format("%s/kernels/%s", data, name);
    json_t *spec = spec_owner(directory) == SPEC_OURS ? spec_read(directory) : NULL;
    const json_t *argv = json_object_get(spec, "argv");
    const char *program = json_string_value(json_array_get(argv, 0));
    if (spec) {
        const struct place place = {
            .directory = directory,
            .name = name,
            .program = program ? program : "",
            .python = option_value(argv, "--python"),
            .libpython = option_value(argv, "--libpython"),
        };
        self->found++;
        self->visit(&place, self->arg);
    }
    json_decref(spec);
    free(directory);
}

static void search(struct search *self, const char *data)
{
    char *path = text_format("%s/kernels", data);
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.') {
            look_at(self, data, entries[i]->d_name);
        }
        free(entries[i]);
    }
    if (n >= 0) {
        free(entries);
    }
    free(path);
}

size_t places_each(const char *prefix, void (*visit)(const struct place *place, void *arg),
                   void *arg)
{
    struct search self = {.visit = visit, .arg = arg};
    add_jupyter_path(&self);
    add(&self, spec_user_data());
    add(&self, prefix ? text_format("%s/share/jupyter", prefix) : NULL);
    add(&self, xstrdup("/usr/local/share/jupyter"));
    add(&self, xstrdup("/usr/share/jupyter"));
    for (size_t i = 0; i < self.count; i++) {
        search(&self, self.data[i]);
        free(self.data[i]);
    }
    free(self.data);
    return self.found;
}

const char *place_gone(const struct place *self)
{
    if (access(self->program, X_OK) != 0) {
        return self->program;
    }
    if (self->python && access(self->python, X_OK) != 0) {
        return self->python;
    }
    if (self->libpython && *self->libpython && access(self->libpython, R_OK) != 0) {
        return self->libpython;
    }
    return NULL;
}
