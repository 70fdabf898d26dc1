"""Pipes, exit codes, odd encodings and markup, as a shell hands them over."""

import subprocess
import sys


def test_files_may_be_pipes(tmp_path):
    (tmp_path / "a.txt").write_text("one two\nthree\n")
    command = (
        f'"{sys.executable}" -m evalign score -c <(cat a.txt) -r <(cat a.txt) -m "bertscore(model=fake)" --format tsv'
    )
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "\t2\t0\t" in done.stdout


def test_candidates_come_from_standard_input_as_sacrebleu_reads_them(run, tmp_path):
    (tmp_path / "a.txt").write_text("one two\nthree\n")
    done = run("score", "-r", "a.txt", "-m", "chrf", "--format", "tsv", cwd=tmp_path, stdin="one two\nthree\n")
    assert done.returncode == 0, done.stderr
    assert "standard input\tchrf\t" in done.stdout


def test_a_process_ends_with_the_exit_code_and_one_sentence(run_process, tmp_path):
    done = run_process("score", "nowhere.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "evalign: nowhere.jsonl: no such file\n"


def test_equal_metrics_are_scored_once(run, tmp_path):
    (tmp_path / "a.txt").write_text("one two\nthree\n")
    specs = ["-m", "bertscore(model=fake)", "-m", "bertscore( model=fake )"]
    done = run("score", "-c", "a.txt", "-r", "a.txt", *specs, "--format", "tsv", cwd=tmp_path)
    assert len(done.stdout.splitlines()) == 2
    assert "\t2\t0\t" in done.stdout


def test_output_is_utf_8_whatever_the_locale(run_process):
    done = run_process("align", "a b", "a c", "-m", "bertscore(model=fake)", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert "█" in done.stdout


def test_tokens_are_not_markup(run):
    done = run("explain", "x [/b] y", "x [/b] z", "-m", "moverscore(model=fake, ngram=4)")
    assert done.returncode == 0, done.stderr
    assert "[/b]" in done.stdout.replace(" ", "") or "/b]" in done.stdout


def test_a_text_without_tokens_is_said_to_be_empty(run):
    done = run("explain", " ", "a cat", "-m", "lisascore(model=fake, specials=drop)")
    assert (done.returncode, "the candidate is empty" in done.stderr) == (2, True), done.stderr


def test_ctrl_c_is_one_line_and_exit_code_130(run, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    (tmp_path / "a.txt").write_text("one two\n")
    monkeypatch.setattr("evalign.cli.score.score_source", interrupted)
    done = run("score", "-c", "a.txt", "-r", "a.txt", "-m", "chrf", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "evalign: interrupted")
