"""The commands that measure: bench, doctor, synth."""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import program
from program import run

SMALL = ["--shape", "stories-15m", "--type", "Q4_0", "-r", "2", "-n", "2"]


class Measure(unittest.TestCase):
    def assert_failed(self, result, status, *words):
        """One sentence on stderr, nothing on stdout."""
        self.assertEqual(status, result.returncode, result.stderr)
        self.assertEqual(b"", result.stdout)
        lines = result.stderr.decode().strip().split("\n")
        self.assertEqual(1, len(lines), lines)
        self.assertTrue(lines[0].startswith("llm: "), lines)
        for word in words:
            self.assertIn(word, lines[0])

    def test_bench_json(self):
        result = run("bench", *SMALL, "-p", "4,16", "--depth", "0,70", "-t", "1,2", "--batch-sizes", "1,3", "--json")
        self.assertEqual(0, result.returncode, result.stderr)
        out = json.loads(result.stdout)
        for key in ("load_s", "ttft_s", "peak_rss_mib", "read_gbps", "int8_gops"):
            self.assertGreater(out[key], 0, key)
        self.assertEqual([1, 2], [limits["threads"] for limits in out["limits"]])
        self.assertEqual(1, out["threads"])
        self.assertEqual([(4, 1), (4, 2), (16, 1), (16, 2)], [(row["n"], row["threads"]) for row in out["prompt"]])
        self.assertEqual([(0, 1), (0, 2), (70, 1), (70, 2)], [(row["depth"], row["threads"]) for row in out["gen"]])
        self.assertEqual([(1, 1), (1, 2), (3, 1), (3, 2)], [(row["n"], row["threads"]) for row in out["batch"]])
        for row in out["prompt"] + out["gen"] + out["batch"]:
            self.assertEqual(2, len(row["tps"]))
            self.assertGreater(min(row["tps"]), 0)
        self.assertTrue(all(row["share"] > 0 for row in out["prompt"] + out["gen"]))

    def test_bench_table(self):
        result = run("bench", *SMALL, "-p", "0", "--depth", "5", "-t", "1")
        self.assertEqual(0, result.returncode, result.stderr)
        text = result.stdout.decode()
        self.assertIn("generation of 2 after 5", text)
        self.assertNotIn("prompt of 0", text)

    def test_bench_compare(self):
        def write(name, **changes):
            rows = {"model": "m", "hash": "1", "tier": "avx2", "threads": 2, "load_s": 1, "prompt": [{"n": 8, "tps": [10, 11, 12]}],
                    "gen": [{"depth": 0, "n": 4, "tps": [5, 5, 5]}]}
            path = os.path.join(folder, name)
            with open(path, "w") as file:
                file.write(json.dumps({**rows, **changes}))
            return path
        with tempfile.TemporaryDirectory() as folder:
            before = write("before.json")
            after = write("after.json", tier="avx512", prompt=[{"n": 8, "tps": [20, 22, 24]}], gen=[{"depth": 0, "n": 4, "tps": [5.1, 4.9, 5]}])
            result = run("bench", "--compare", before, after)
            self.assertEqual(0, result.returncode, result.stderr)
            lines = {line[:28].strip(): line[28:].split() for line in result.stdout.decode().splitlines() if line[28:]}
            self.assertEqual("2.000", lines["prompt of 8"][-1])
            self.assertIn("within", lines["generation of 4 after 0"])
            other = write("other.json", model="n")
            self.assert_failed(run("bench", "--compare", before, other), 1, '"m"', '"n"')
            nothing = write("nothing.json", prompt=[{"n": 9, "tps": [1]}], gen=[])
            self.assert_failed(run("bench", "--compare", before, nothing), 1, "prompt of 8", "prompt of 9")
            for name, text in (("text", "no"), ("list", "[]"), ("plain", "{}"), ("empty", "")):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
                self.assert_failed(run("bench", "--compare", before, file.name), 1, file.name)
            self.assert_failed(run("bench", "--compare", before, os.path.join(folder, "missing")), 1, "missing")
            self.assert_failed(run("bench", "--compare", before), 2)

    def test_bench_interrupt(self):
        args = [program.BINARY, "bench", "--shape", "stories-15m", "-p", "256", "-n", "4000", "-r", "1000", "--cpu", "ref"]
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=program.environment(folder, TMPDIR=folder))
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=program.PATIENCE)
            self.assertIn(process.returncode, (130, -signal.SIGINT))
            self.assertEqual([], os.listdir(folder))

    def test_usage(self):
        for args in (["-r", "0"], ["-t", "0"], ["--depth", "-1"], ["-p", "x"], ["--batch-sizes", "0"],
                     ["--shape", "nothing"], ["--shape", "stories-15m", "--type", "nothing"],
                     ["--shape", "stories-15m", "-m", "x"]):
            self.assert_failed(run("bench", *args), 2)
        for args in ([], ["--shape", "stories-15m"], ["--shape", "nothing", "-o", "x"],
                     ["--shape", "stories-15m", "--type", "Q9", "-o", "x"]):
            self.assert_failed(run("synth", *args), 2)
        self.assert_failed(run("doctor", "--cpu", "nothing"), 1, "nothing")
        self.assert_failed(run("doctor", "-t", "5000"), 2, "5000")

    def test_doctor(self):
        result = run("doctor", "-t", "1")
        self.assertEqual(0, result.returncode, result.stderr)
        for word in ("CPU tier", "threads", "quota", "huge pages", "GB/s"):
            self.assertIn(word, result.stdout.decode())
        out = json.loads(run("doctor", "-t", "1", "--cpu", "ref", "--json").stdout)
        self.assertEqual("ref", out["tier"])
        self.assertIn("ref", out["tiers"])
        self.assertGreater(out["read_gbps"], 0)
        self.assertEqual(0, out["int8_gops"])
        self.assertGreaterEqual(out["allowed"], out["threads"])
        self.assertTrue(all(fit["bytes"] <= out["memory_available"] for fit in out["fits"]))

    def test_synth(self):
        shapes = json.loads(run("synth", "--list", "--json").stdout)["shapes"]
        self.assertIn("llama-3.2-1b", shapes)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.gguf")
            result = run("synth", "--shape", "stories-15m", "--type", "Q4_K_M", "-o", path)
            self.assertEqual(0, result.returncode, result.stderr)
            result = run("run", "-m", path, "-p", "the", "-n", "8", "--temp", "0", "--json")
            self.assertEqual(8, len(json.loads(result.stdout)["ids"]))


if __name__ == "__main__":
    program.main(unittest)
