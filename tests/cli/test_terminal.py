"""Conversations in a terminal: what is typed, and the screen that must be there.

A model's words may change, so the sessions compare what the tool itself shows: prompts, edited text, cursor, notices.
"""
import os
import shlex
import signal
import tempfile
import time
import unittest

import program
from program import Terminal

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"  # three people joined by U+200D: one cluster, two columns
ACCENT = "e\u0301"  # e and a combining acute
LEFT, RIGHT, UP, DOWN, HOME, END = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B", "\x1b[H", "\x1b[F"
ALT_ENTER, CTRL_C, CTRL_D, BACKSPACE, DELETE = "\x1b\r", "\x03", "\x04", "\x7f", "\x1b[3~"


def chat(*args, **options):
    defaults = [] if "-n" in args else ["-n", "12"]
    temperature = [] if "--temp" in args else ["--temp", "0"]
    return Terminal("chat", *program.chat_model(), "-t", "1", *temperature, *defaults, *args, **options)


def long_answer(*args, **options):
    """A chat whose answers last seconds: portable code, and tokens so random that the end hardly ever comes up."""
    return chat("-n", "2000", "--cpu", "ref", "--temp", "100", "--top-k", "0", "--top-p", "1", "-s", "1", *args, **options)


class Sessions(unittest.TestCase):
    def test_plain_turns(self):
        with chat() as t:
            t.wait_prompt()
            self.assertIn("/help lists the commands", t.screen.text())
            self.assertIn("  /1  ", t.screen.text())
            t.say("hello")
            self.assertIn("> hello\n", t.screen.text())
            self.assertRegex(t.screen.text(), r"\[.*\d+ of \d+ tokens left\]")
            t.say("and again")
            self.assertEqual(2, t.screen.text().count("tokens left]"))

    def test_ten_turns(self):
        with chat("-n", "3", rows=60) as t:
            t.wait_prompt()
            for i in range(10):
                t.say("turn %d" % i)
            self.assertEqual(10, t.screen.text().count("tokens left]"))

    def test_editing_by_cluster(self):
        with chat() as t:
            t.wait_prompt()
            t.type("a\u4e2d")
            t.send(FAMILY)
            t.send(ACCENT + "z")
            t.wait_typed("> a\u4e2d" + FAMILY + ACCENT + "z", 9)
            for column in (8, 7, 5, 3, 2):
                t.send(LEFT)
                t.wait_typed("> a\u4e2d" + FAMILY + ACCENT + "z", column)
            t.send(RIGHT + RIGHT + DELETE)  # the family goes as a whole
            t.wait_typed("> a\u4e2d" + ACCENT + "z", 5)
            t.send(RIGHT + BACKSPACE)  # so does the accented letter
            t.wait_typed("> a\u4e2dz", 5)
            t.send(BACKSPACE)
            t.wait_typed("> az", 3)
            t.send("\U0001f1e9\U0001f1ea")  # a flag in the middle
            t.wait_typed("> a\U0001f1e9\U0001f1eaz", 5)
            t.send(HOME + "x" + END + "y")
            t.wait_typed("> xa\U0001f1e9\U0001f1eazy", 8)
            t.send("\x15")
            t.wait_prompt()

    def test_words_and_history(self):
        with tempfile.TemporaryDirectory() as state:
            with chat(state=state) as t:
                t.wait_prompt()
                t.type("one two three")
                t.send("\x17")
                t.wait_typed("> one two", 10)
                t.send("\x1bb\x0b")
                t.wait_typed("> one", 6)
                t.send("\x19\r")
                t.read(0.3)
                t.wait_prompt()
                t.say("second")
                t.type("draft")
                t.send(UP + UP)
                t.wait_typed("> one two", 10)
                t.send(DOWN + DOWN)
                t.wait_typed("> draft", 7)
            with chat(state=state) as t:  # the history outlives the program
                t.wait_prompt()
                t.send(UP)
                t.wait_typed("> second", 8)
            self.assertEqual(0o600, os.stat(os.path.join(state, "llm", "history")).st_mode & 0o777)

    def test_bracketed_paste(self):
        with chat() as t:
            t.wait_prompt()
            self.assertIn(2004, t.screen.modes)
            t.send("\x1b[200~first\r\nsecond\rthird\x1b[201~")
            t.wait_typed("  third", 7)
            row = t.screen.row
            self.assertEqual(["> first", "  second"], t.screen.lines()[row - 2:row])
            self.assertNotIn("tokens left]", t.screen.text())  # nothing was sent yet
            t.send("\r")
            t.wait_text("tokens left]")
            t.wait_prompt()
            self.assertEqual(1, t.screen.text().count("tokens left]"))

    def test_paste_without_brackets(self):
        with chat() as t:
            t.wait_prompt()
            t.send("first\rsecond\rthird")
            t.wait_typed("  third", 7)
            t.send("\r")
            t.wait_text("tokens left]")
            t.wait_prompt()
            self.assertEqual(1, t.screen.text().count("tokens left]"))

    def test_lines(self):
        with chat() as t:
            t.wait_prompt()
            t.type(["a", "b", ALT_ENTER, "c", "\\", "\r", "d"])
            t.wait_typed("  d", 3)
            row = t.screen.row
            self.assertEqual(["> ab", "  c"], t.screen.lines()[row - 2:row])
            t.send(UP + UP + END + "!")
            t.wait_typed("> ab!", 5)
            t.send("\r")
            t.wait_text("tokens left]")
            t.wait_prompt()
            t.send(UP)  # one message, as one entry of the history
            t.wait_typed("  d", 3)

    def test_interrupted_answer(self):
        with long_answer() as t:
            t.wait_prompt()
            t.send("Tell me a long story\r")
            t.wait_answer("Tell me a long story")
            begin = time.monotonic()
            t.send(CTRL_C)
            t.wait_text("[stopped; ")
            self.assertLess(time.monotonic() - begin, 2)
            t.wait_prompt()
            t.send("/stats\r")
            t.wait_text("messages 2")  # both halves of the turn are kept
            t.wait_prompt()
            t.send("go on\r")
            t.wait_answer("go on")
            t.send(CTRL_C)
            t.wait_prompt()
            t.send(CTRL_D)
            self.assertEqual(0, t.exit_status())

    def test_typed_ahead(self):
        with long_answer() as t:
            t.wait_prompt()
            t.send("Tell me a long story\r")
            t.wait_answer("Tell me a long story")
            t.send("/stats\r/stats\rrest")
            t.read(0.1)
            t.send(CTRL_C)
            t.wait_typed("> rest", 6)
            self.assertEqual(2, t.screen.text().count("messages 2"))

    def test_two_interrupts_leave(self):
        with chat() as t:
            t.wait_prompt()
            t.type("text")
            t.send(CTRL_C)  # clears the text
            t.wait_prompt()
            t.send(CTRL_C)
            t.wait_text("Ctrl-C again or Ctrl-D leaves")
            t.wait_prompt()
            t.send(CTRL_C)
            self.assertEqual(130, t.exit_status())
            self.assertTrue(t.modes_restored())

    def test_end_of_input(self):
        with chat() as t:
            t.wait_prompt()
            t.type("ab")
            t.send(CTRL_D)  # deletes in a text, and leaves in an empty one
            t.wait_typed("> ab", 4)
            t.send(LEFT + CTRL_D)
            t.wait_typed("> a", 3)
            t.send(BACKSPACE + CTRL_D)
            self.assertEqual(0, t.exit_status())
            self.assertTrue(t.modes_restored())

    def test_commands(self):
        with tempfile.TemporaryDirectory() as folder, chat(rows=70) as t:
            path = os.path.join(folder, "a b.session")
            t.wait_prompt()
            t.say("/help")
            for name in ("/reset", "/save", "/load", "/stats", "/exit", "Alt-Enter"):
                self.assertIn(name, t.screen.text())
            t.say("hello")
            t.say("/save " + path)
            self.assertIn("[saved to ", t.screen.text())
            t.say("/reset")
            self.assertIn("[the conversation starts anew]", t.screen.text())
            t.say("/stats")
            self.assertIn("messages 0", t.screen.text())
            t.say("/load " + path)
            self.assertIn(": 2 messages]", t.screen.text().replace("\n", ""))
            t.say("/load " + folder + "/missing")
            t.say("/nonsense")
            self.assertIn("unknown command /nonsense", t.screen.text())
            t.say("/1")
            t.say("//slash")
            self.assertIn("> /slash\n", t.screen.text())
            t.type("/exit\r")
            self.assertEqual(0, t.exit_status())

    def test_full_context(self):
        with chat("-c", "128", "-n", "8", rows=70) as t:
            t.wait_prompt()
            for i in range(8):
                t.say("Please say something about number %d today" % i)
            self.assertIn("[the context is full: dropping the oldest ", t.screen.text())
            self.assertNotIn("llm: ", t.screen.text().split("Try:")[-1])
            t.send("word " * 200 + "\r")  # fits into no context of this size: refused, the conversation stays
            t.wait_text("llm: ")
            t.wait_prompt()
            t.say("still there?")

    def test_twenty_columns(self):
        with chat(columns=20, rows=40) as t:
            t.wait_prompt()
            t.send("abcdefghijklmnopqr")  # fills the row: the cursor goes below
            t.wait_typed("", 2)
            t.type("stu\u4e2d\u6587")
            t.wait_typed("  stu\u4e2d\u6587", 9)
            self.assertEqual("> abcdefghijklmnopqr", t.screen.line(t.screen.row - 1))
            t.send(UP)
            t.wait_typed("> abcdefghijklmnopqr", 9)
            t.send("-" + END)
            t.wait_typed("  rstu\u4e2d\u6587", 10)
            t.send(HOME + DELETE * 9)
            t.wait_typed("> ijklmnopqrstu\u4e2d\u6587", 2)
            t.send("\x0b")
            t.wait_prompt()
            t.say("hello")
            self.assertIn("> hello", t.screen.text())

    def test_resized_window(self):
        with chat(columns=60, rows=40) as t:
            t.wait_prompt()
            t.send("0123456789" * 5)
            t.wait_typed("> " + "0123456789" * 5, 52)
            t.resize(30)
            t.wait_typed("  8901234567890123456789", 24)
            self.assertEqual("> 0123456789012345678901234567", t.screen.line(t.screen.row - 1))
            self.assertEqual(1, t.screen.text().count("> 0123456789"))
            t.resize(60)
            t.wait_typed("> " + "0123456789" * 5, 52)

    def test_long_text_scrolls(self):
        with chat(rows=8) as t:
            t.wait_prompt()
            t.send("\x1b[200~" + "\n".join("line %d" % i for i in range(30)) + "\x1b[201~")
            t.wait_typed("  line 29", 9)
            t.send(UP * 29)
            t.wait_typed("> line 0", 8)
            t.send(CTRL_C)
            t.wait_prompt()

    def test_ended_by_signals(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(number), chat() as t:
                t.wait_prompt()
                self.assertFalse(t.modes_restored())
                t.type("text")
                t.process.send_signal(number)
                self.assertEqual(-number, t.exit_status())
                self.assertTrue(t.modes_restored())

    def test_ended_while_answering(self):
        with long_answer() as t:
            t.wait_prompt()
            t.send("Tell me a long story\r")
            t.read(0.5)
            t.process.terminate()
            self.assertEqual(-signal.SIGTERM, t.exit_status())
            self.assertTrue(t.modes_restored())

    def test_suspended(self):
        command = shlex.join([program.BINARY, "chat", *program.chat_model(), "-n", "8"])
        # Ctrl-Z gives the shell its terminal back; its next command resumes the chat.
        script = "set -m; %s; stty -a | grep -c -w -e -icanon; sleep 0.2; fg" % command
        with Terminal("-c", script, program="bash") as t:
            t.wait_prompt()
            t.type("abc")
            t.send("\x1a")
            t.wait_typed("> abc", 5)
            self.assertIn("\n0\n", t.screen.text())
            t.type("d\r")
            t.wait_text("tokens left]")
            t.wait_prompt()

    def test_suspended_without_a_shell(self):
        with chat() as t:
            t.wait_prompt()
            t.type("abc")
            t.send("\x1a")  # nobody could resume the program: it goes on
            t.type("d")
            t.wait_typed("> abcd", 6)

    def test_failure_restores_modes(self):
        with Terminal("chat", "-m", "/nonexistent/model.gguf") as t:
            self.assertEqual(1, t.exit_status())
            self.assertIn("llm: ", t.screen.text())
            self.assertTrue(t.modes_restored())


if __name__ == "__main__":
    program.main(unittest)
