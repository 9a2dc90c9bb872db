"""The tool without a terminal: in pipes and files, with wrong files and wrong usage."""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import program
from program import run

PLAIN = ["--temp", "0", "-t", "1"]


def chat(*args, stdin=b""):
    return run("chat", *program.chat_model(), *PLAIN, *args, stdin=stdin)


class Pipes(unittest.TestCase):
    def assert_failed(self, result, status, *words):
        """One sentence on stderr, nothing on stdout."""
        self.assertEqual(status, result.returncode, result.stderr)
        self.assertEqual(b"", result.stdout)
        lines = result.stderr.decode().strip().split("\n")
        self.assertEqual(1, len(lines), lines)
        self.assertTrue(lines[0].startswith("llm: "), lines)
        for word in words:
            self.assertIn(word, lines[0])

    def test_lines_are_messages(self):
        result = chat("-n", "8", stdin="hello\n\nGrüße 中 \U0001f600\n".encode())
        self.assertEqual(0, result.returncode, result.stderr)
        self.assertNotIn(b"\x1b", result.stdout + result.stderr)
        self.assertNotIn(b"tokens left", result.stdout)
        events = chat("-n", "8", "--json", stdin=b"hello\n\nagain\n")
        rows = [json.loads(line) for line in events.stdout.decode().splitlines()]
        self.assertEqual(2, sum(row["event"] == "done" for row in rows))
        self.assertTrue(all(row["event"] in ("answer", "done") for row in rows), rows)
        done = [row for row in rows if row["event"] == "done"][-1]
        self.assertIn(done["finish"], ("eog", "limit"))
        self.assertGreater(done["usage"]["generated"], 0)
        self.assertGreater(done["usage"]["cached"], 0)  # the second turn reads only what is new

    def test_one_shot(self):
        for text in ("hello", "Hallo 中文 \U0001f468\u200d\U0001f469\u200d\U0001f467", "-dash", "/slash"):
            result = chat("-n", "8", "-p", text)
            self.assertEqual(0, result.returncode, result.stderr)
            self.assertTrue(result.stdout.endswith(b"\n"))
        stdin = chat("-n", "8", "-p", "-", stdin=b"two\nlines\n")
        self.assertEqual(0, stdin.returncode, stdin.stderr)

    def test_no_input(self):
        self.assertEqual(0, chat().returncode)
        self.assert_failed(chat("-p", ""), 1, "empty")

    def test_same_seed_same_text(self):
        args = [*program.chat_model()[:2], "-n", "20", "--temp", "1", "-p", "Once", "--json"]
        first = json.loads(run("run", *args).stdout)
        again = json.loads(run("run", *args, "-s", str(first["seed"])).stdout)
        self.assertEqual((first["ids"], first["text"]), (again["ids"], again["text"]))

    def test_demo(self):
        result = chat("--demo", "-n", "5")
        self.assertEqual(0, result.returncode, result.stderr)
        self.assertEqual(3, result.stderr.count(b"> "))

    def test_limit_is_told(self):
        result = chat("-n", "3", "-p", "Tell me a story about a fox.")
        self.assertEqual(0, result.returncode)
        self.assertIn(b"stopped after 3 tokens (-n)", result.stderr)
        self.assertIn("default 1024", run("chat", "--help").stdout.decode())
        done = json.loads(chat("-n", "3", "--json", "-p", "Tell me a story about a fox.").stdout.splitlines()[-1])
        self.assertEqual("limit", done["finish"])

    def test_temperature_is_a_number(self):
        for value, word in (("warm", "warm"), ("-1", "temperature")):
            result = run("chat", *program.chat_model(), "-p", "x", "--temp", value)
            self.assert_failed(result, 2, word)

    def test_session_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "\u4e2d.session")
            usage = []
            for _ in range(2):
                result = chat("-n", "5", "--json", "--session", path, "-p", "hello")
                self.assertEqual(0, result.returncode, result.stderr)
                usage.append(json.loads(result.stdout.splitlines()[-1])["usage"]["prompt"])
            self.assertGreater(usage[1], usage[0])

    def test_templates(self):
        with tempfile.TemporaryDirectory() as folder:
            def write(name, text):
                path = os.path.join(folder, name)
                with open(path, "w") as file:
                    file.write(text)
                return path
            tools = write("tools.json", '[{"type": "function", "function": {"name": "sum"}}]')
            shout = write("shout.jinja", "{% for m in messages %}{{ m.content | upper }}|{% endfor %}"
                                         "{% if tools %}{{ tools[0].function.name }}{% endif %}")
            result = chat("-n", "4", "--template", shout, "--tools", tools, "-p", "hello")
            self.assertEqual(0, result.returncode, result.stderr)
            commands = f"/template {shout}\n/template\n/system be kind\n/think off\nhello\n/system\nagain\n"
            result = chat("-n", "4", stdin=commands.encode())
            self.assertEqual(0, result.returncode, result.stderr)
            self.assertIn(b"upper", result.stderr)
            self.assertIn(b"system message changed", result.stderr)
            self.assert_failed(chat("--template", "vicuna", "-p", "x"), 1, "vicuna", "chatml")
            self.assert_failed(chat("--template", write("bad.jinja", "\n{% if %}"), "-p", "x"), 1, "line 2")
            self.assert_failed(chat("--template", write("no.jinja", "{{ raise_exception('not so') }}"), "-p", "x"), 1,
                               "not so")
            self.assert_failed(chat("--tools", write("no.json", "{"), "-p", "x"), 2, "tools", "JSON")
            self.assert_failed(chat("--think", "maybe", "-p", "x"), 2)
            for command, word in (("/think maybe", b"on, off"), ("/template vicuna", b"vicuna")):
                result = chat(stdin=command.encode())
                self.assertIn(word, result.stderr)

    def test_tokenize_shows_the_conversation(self):
        model = program.chat_model()[:2]

        def ids(*args, stdin=b""):
            result = run("tokenize", *model, "--json", *args, stdin=stdin)
            self.assertEqual(0, result.returncode, result.stderr)
            return json.loads(result.stdout)["ids"]
        plain = ids("--chat-template", "chatml", "-p", "hi")
        self.assertEqual(plain, ids("--chat-template", "chatml", stdin=b"hi"))
        self.assertGreater(len(ids("--chat-template", "chatml", "--system", "be kind", "-p", "hi")), len(plain))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "messages.json")
            with open(path, "w") as file:
                json.dump([{"role": "user", "content": "hi"}], file)
            self.assertEqual(plain, ids("--chat-template", "chatml", "--messages", path))
            with open(path, "w") as file:
                file.write("[{}]")
            self.assert_failed(run("tokenize", *model, "--chat-template", "chatml", "--messages", path), 2, "role")

    def test_pack(self):
        model = program.chat_model()[1]
        with tempfile.TemporaryDirectory() as folder:
            packed = os.path.join(folder, "packed \u4e2d.gguf")
            result = run("pack", model, packed, "--json")
            self.assertEqual(0, result.returncode, result.stderr)
            self.assertEqual(packed, json.loads(result.stdout)["path"])
            self.assertEqual([os.path.basename(packed)], os.listdir(folder))
            hashes = [run("logits", "-m", m, "--tokens", "1,2,3", "--hash").stdout for m in (model, packed)]
            self.assertEqual(hashes[0], hashes[1])
            self.assertIn(b" packed ", run("info", packed).stdout)
            info = json.loads(run("info", packed, "--check", "--json").stdout)
            self.assertTrue(info["sound"])
            self.assertGreater(info["memory_mapped"], info["memory_weights"])
            self.assert_failed(run("pack", packed, os.path.join(folder, "again")), 1, "packed already")
            self.assert_failed(run("pack", packed, packed), 1, "packed already")
            self.assert_failed(run("pack", model), 2, "IN and OUT")

    def test_wrong_files(self):
        with tempfile.TemporaryDirectory() as folder:
            empty, text = os.path.join(folder, "empty.gguf"), os.path.join(folder, "text.gguf")
            open(empty, "w").close()
            with open(text, "w") as file:
                file.write("not a model\n" * 100)
            for path in (folder, os.path.join(folder, "missing.gguf"), empty, text):
                for command in ("chat", "run"):
                    self.assert_failed(run(command, "-m", path, "-p", "x"), 1, path)
                self.assert_failed(run("info", path), 1, path)

    def test_wrong_usage(self):
        for args in (["nonsense"], ["chat", "--nonsense"], ["chat", "-c", "abc"], ["chat", "--mem-limit", "5X"],
                     ["logits", "--tokens", "1,2"], ["logits", "--tokens", "1,2", "--split", "1,2", "--hash"],
                     ["logits", "--tokens", "a", "--hash"], ["bench", "-r", "0"], ["synth", "-o", "x"]):
            command = args + (program.chat_model()[:2] if args[0] == "logits" else [])
            self.assert_failed(run(*command), 2)

    def test_help(self):
        for command in ("chat", "run", "tokenize", "logits", "info", "bench", "doctor", "synth"):
            result = run(command, "--help")
            self.assertEqual(0, result.returncode)
            self.assertEqual(2, result.stdout.decode().split("examples:")[1].count("llm " + command))
            self.assertEqual(result.stdout, run("help", command).stdout)
        self.assertEqual(0, run("--help").returncode)
        self.assertEqual(0, run("--version").returncode)

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([program.BINARY, "run", *program.chat_model()[:2], "-p", "x", "-n", "4", "--temp", "0"],
                                    stdout=full, stderr=subprocess.PIPE, timeout=program.PATIENCE)
        self.assertEqual(1, result.returncode)
        self.assertIn(b"cannot write", result.stderr)

    def test_interrupt(self):
        args = [program.BINARY, "chat", *program.chat_model(), "--cpu", "ref", "--temp", "0", "-q", "-p", "A long story"]
        process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=program.PATIENCE)
        self.assertEqual(130, process.returncode)

    def test_tokens_of_requests(self):
        model = program.chat_model()[:2]
        requests = [{"text": "hello"}, {"hex": "68656c6c6f"}, {"hex": "6"}, {}, {"text": "", "add_special": True}]
        lines = "\n".join([json.dumps(r) for r in requests] + ["[" * 10000, ""])
        result = run("tokenize", *model, "--jsonl", stdin=lines.encode())
        answers = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(len(requests) + 1, len(answers))
        self.assertEqual(answers[0], answers[1])
        self.assertTrue(all("error" in answers[i] for i in (2, 3, 5)), answers)
        ids = ",".join(str(i) for i in answers[0]["ids"])
        self.assertEqual(b"hello", run("tokenize", *model, "--decode", ids).stdout.strip())

    def test_logits(self):
        model = program.chat_model()[:2]
        def hash_of(*args):
            result = run("logits", *model, "--tokens", "1,20,30,40,50", "--hash", *args)
            self.assertEqual(0, result.returncode, result.stderr)
            return result.stdout
        first = hash_of()
        self.assertRegex(first, rb"^[0-9a-f]{16}\n$")
        self.assertEqual(first, hash_of("--split", "2,1,2"))
        self.assertEqual(first, hash_of("--beside", "3", "--split", "4,1"))
        self.assertEqual(first, hash_of("-t", "2"))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.f32")
            result = run("logits", *model, "--tokens", "1,20,30,40,50", "-o", path, "--json")
            self.assertEqual(os.path.getsize(path), 4 * 5 * json.loads(result.stdout)["n_vocab"])

    def test_info(self):
        result = run("info", *program.chat_model()[:2], "--json", "--check")
        self.assertEqual(0, result.returncode, result.stderr)
        info = json.loads(result.stdout)
        self.assertTrue(info["sound"])
        self.assertGreater(info["n_params"], 0)

    def test_bench(self):
        result = run("bench", *program.chat_model()[:2], "-p", "16", "-n", "4", "-r", "2", "--depth", "0,8", "--json")
        self.assertEqual(0, result.returncode, result.stderr)
        figures = json.loads(result.stdout)
        self.assertEqual([16], [row["n"] for row in figures["prompt"]])
        self.assertEqual([0, 8], [row["depth"] for row in figures["gen"]])
        self.assertTrue(all(len(row["tps"]) == 2 for row in figures["prompt"] + figures["gen"]))
        for key in ("tier", "threads", "load_s", "ttft_s", "peak_rss_mib", "read_gbps", "int8_gops"):
            self.assertIn(key, figures)


if __name__ == "__main__":
    program.main(unittest)
