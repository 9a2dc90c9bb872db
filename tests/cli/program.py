"""Runs the llm tool for the tests: in a terminal of its own (Terminal) or with pipes (run)."""
import codecs
import fcntl
import glob
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from screen import Screen

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BINARY = os.environ.get("LLM_BINARY", os.path.join(SOURCE, "build", "llm"))
DATA = os.environ.get("LLM_TEST_DATA") or os.path.join(SOURCE, "..", "shared", "data")
# Slower builds (sanitizers, emulation) need more patience; a fast one never waits this long.
PATIENCE = float(os.environ.get("LLM_TEST_PATIENCE", "60"))


def chat_model():
    """Arguments that name a model which can chat: LLM_TEST_MODEL, the bundled one, else the smallest with a template."""
    named = os.environ.get("LLM_TEST_MODEL")
    if named:
        return ["-m", named]
    bundled = sorted(glob.glob(os.path.join(SOURCE, "models", "libllm-chat-*.gguf")))
    if bundled:
        return ["-m", bundled[0]]
    stories = os.path.join(DATA, "stories260k", "stories260K.f32.gguf")
    return ["-m", stories, "--template", "chatml"] if os.path.exists(stories) else None


def environment(state, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("LLM_") and k != "NO_COLOR"}
    env.update(TERM="xterm-256color", LANG="C.UTF-8", XDG_STATE_HOME=state, **more)
    return env


def run(*args, stdin=b"", **more):
    """The finished program with stdout and stderr as bytes; no terminal."""
    with tempfile.TemporaryDirectory() as state:
        return subprocess.run([BINARY, *args], input=stdin, capture_output=True, timeout=PATIENCE,
                              env=environment(state, **more))


class Terminal:
    def __init__(self, *args, columns=80, rows=24, state=None, program=BINARY, **more):
        self.own_state = tempfile.TemporaryDirectory() if state is None else None
        self.screen = Screen(columns, rows)
        self.raw = b""
        self.decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self.master, slave = pty.openpty()
        self.set_size(columns, rows)
        self.modes_before = termios.tcgetattr(slave)
        self.process = subprocess.Popen([program, *args], stdin=slave, stdout=slave, stderr=slave, close_fds=True,
                                        start_new_session=True, preexec_fn=take_terminal,
                                        env=environment(state or self.own_state.name, **more))
        self.slave = slave

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
        if self.own_state:
            self.own_state.cleanup()

    def set_size(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns):
        self.read(0.2)
        self.screen.resize(columns)
        self.set_size(columns, self.screen.rows)

    def send(self, keys):
        data = keys.encode() if isinstance(keys, str) else keys
        while data:
            data = data[os.write(self.master, data):]
            self.read(0)

    def type(self, keys):
        """One key after the other, as a person types."""
        for key in keys:
            self.send(key)
            self.read(0.01)

    def read(self, seconds):
        """Takes what the program writes within `seconds`; False when it wrote nothing."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.raw += data
        self.screen.feed(self.decoder.decode(data))
        return bool(data)

    def wait(self, what, condition, quiet=True):
        """Until the condition holds and, if asked for, the program writes nothing more."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            written = self.read(0.03)
            if condition() and not (quiet and written):
                return
            if self.process.poll() is not None and not self.read(0.03) and not condition():
                break
        raise AssertionError("waited in vain for %s; the screen (cursor %s):\n%s" %
                             (what, self.screen.cursor(), self.screen.text()))

    def wait_text(self, text):
        self.wait("%r" % text, lambda: text in self.screen.text())

    def at_prompt(self):
        return self.screen.line(self.screen.row) == ">" and self.screen.column == 2

    def wait_prompt(self):
        self.wait("an empty prompt", self.at_prompt)

    def wait_typed(self, line, column):
        """Until the cursor's row shows `line` with the cursor in `column`."""
        self.wait("%r with the cursor in column %d" % (line, column),
                  lambda: self.screen.line(self.screen.row) == line and self.screen.column == column)

    def wait_answer(self, message):
        """Until the answer to the latest message has begun."""
        def begun():
            _, found, answer = self.screen.text().rpartition("> " + message + "\n")
            return found and answer.strip()
        self.wait("an answer", begun, quiet=False)

    def say(self, message):
        """Types a message and waits for the prompt after its answer."""
        self.type(message)
        self.send("\r")
        self.read(0.3)
        self.wait_prompt()

    def exit_status(self):
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.02)
        while self.read(0.02):
            pass
        return self.process.wait(timeout=1)

    def modes_restored(self):
        return termios.tcgetattr(self.slave) == self.modes_before and 2004 not in self.screen.modes


def take_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def main(unittest):
    """Entry of a test file: without a model that can chat the tests are left out, loudly."""
    if chat_model() is None:
        print("NOT TESTED: no model that can chat (bundled, or conformance data \"stories260k\")", file=sys.stderr)
        return
    unittest.main(verbosity=2)
