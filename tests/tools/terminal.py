"""A program in a terminal of tmux: keys go in, and what the screen shows comes out."""

import re
import shlex
import subprocess
import tempfile
import time

COLUMNS, LINES = 120, 50

# tmux does not always learn how its program ended: the shell writes it on the screen, which cat
# keeps open. Ctrl-C is for the program only.
SHELL = "trap : INT; {}; printf '\\nended with %d.\\n' $?; exec cat"


class Terminal:
    def __init__(self, words, environment, directory):
        self.socket = tempfile.TemporaryDirectory(prefix="einkorn-")  # a short path
        self.environment = environment
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES),
                  "-c", str(directory), "sh", "-c", SHELL.format(shlex.join(map(str, words))))

    def tmux(self, *words):
        return subprocess.run(["tmux", "-u", "-S", f"{self.socket.name}/s", *words],
                              env=self.environment, check=True, text=True, capture_output=True,
                              timeout=20).stdout

    def shown(self):
        """
        The screen and what has scrolled off it. No line ends with blanks, the last one with a
        newline.
        """
        lines = self.tmux("capture-pane", "-p", "-S", "-").rstrip().splitlines()
        return "".join(line.rstrip() + "\n" for line in lines)

    def wait(self, found, what, timeout=30):
        """Polls until found(the screen's text) is true. -> that text"""
        end = time.monotonic() + timeout
        while not found(text := self.shown()):
            assert time.monotonic() < end, f"no {what} within {timeout} s on this screen:\n{text}"
            time.sleep(0.05)
        return text

    def expect(self, text, timeout=30):
        """Waits until the text is shown. -> what is shown then"""
        return self.wait(lambda shown: text in shown, repr(text), timeout)

    def press(self, *keys):
        """Keys by their names in tmux: Enter, Tab, Up, C-c."""
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", "--", text)

    def enter(self, text):
        self.type(text)
        self.press("Enter")

    def expect_end(self, timeout=30):
        """Waits until the program has ended. -> its exit status, as a shell tells it"""
        ended = re.compile(r"^ended with (\d+)\.$", re.M)
        return int(ended.search(self.wait(ended.search, "end of the program", timeout))[1])

    def close(self):
        self.tmux("kill-server")
        self.socket.cleanup()
