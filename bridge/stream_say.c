/*
 * What is written to the streams of cells, on its way: to the speaker of the moment and
 * onto the tape, or, in a forked child, to fd 1 and 2. Worker, any Python thread. Owns the
 * beginnings of characters that were written as bytes, for a character may come in two
 * writes. Text that comes after one makes it U+FFFD.
 */

#include "bridge/stream_say.h"

#include "bridge/forked.h"
#include "bridge/speaker.h"
#include "bridge/tape.h"
#include "bridge/utf8.h"

static struct utf8_decoder half[PORT_STREAMS]; /* a character of which the rest may come */

int py_stream_say_bytes(int stream, struct slice bytes)
{
    if (forked_is_child()) {
        return py_forked_put(stream, bytes);
    }
    struct buffer text = BUFFER_INIT;
    int error = 0;
    struct speaker *speaker = py_speaker_current();
    while (error == 0 && bytes.n > 0) {
        size_t n = bytes.n < SPEAKER_PIECE ? bytes.n : SPEAKER_PIECE;
        buffer_clear(&text);
        utf8_decode(&half[stream], (struct slice){bytes.p, n}, &text);
        tape_put_utf8(stream, buffer_slice(&text));
        error = py_speaker_say_utf8(speaker, stream, buffer_slice(&text));
        bytes = (struct slice){bytes.p + n, bytes.n - n};
    }
    py_speaker_leave(speaker);
    buffer_release(&text);
    return error;
}

static int py_finish(int stream)
{
    if (half[stream].n == 0) {
        return 0;
    }
    struct buffer text = BUFFER_INIT;
    utf8_finish(&half[stream], &text);
    struct speaker *speaker = py_speaker_current();
    int error = py_speaker_say_utf8(speaker, stream, buffer_slice(&text));
    py_speaker_leave(speaker);
    buffer_release(&text);
    return error;
}

int py_streams_finish(void)
{
    int error = py_finish(PORT_STDOUT);
    return py_finish(PORT_STDERR) != 0 ? -1 : error;
}

int py_stream_say_utf8(int stream, struct slice text)
{
    if (forked_is_child()) {
        return py_forked_put(stream, text);
    }
    if (py_finish(stream) != 0) {
        return -1;
    }
    tape_put_utf8(stream, text);
    struct speaker *speaker = py_speaker_current();
    int error = py_speaker_say_utf8(speaker, stream, text);
    py_speaker_leave(speaker);
    return error;
}

int py_stream_say(int stream, PyObject *text)
{
    if (forked_is_child()) {
        return py_forked_put_text(stream, text);
    }
    if (py_finish(stream) != 0 || py_tape_put(stream, text) != 0) {
        return -1;
    }
    struct speaker *speaker = py_speaker_current();
    int error = py_speaker_say(speaker, stream, text);
    py_speaker_leave(speaker);
    return error;
}
