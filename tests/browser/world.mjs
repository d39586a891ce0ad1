// A folder of documents with hostile names and contents, and the program run in it with a clean environment.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/// What a viewer that trusts its input would run, draw or trip over.
export const HOSTILE = [
  "<img src=x data-hostile onerror=\"window.hacked=1;alert(1)\">",
  "</script><script>window.hacked=2;alert(2)</script>",
  "</title></style><svg onload=\"window.hacked=3;alert(3)\">",
  "\"]; click n0 call alert() \"[",
  "%%{init: {\"theme\":\"forest\",\"securityLevel\":\"loose\"}}%%",
  "\\\" label=<<b>x</b>>; URL=\"javascript:alert(4)\"",
  "{{constructor.constructor('window.hacked=5')()}}",
  "- key: !!js/function 'function(){}' # & * ~ null",
  "\u202egnp.md\u0007\u001b[31m ↵ | +",
];

export const GOALS = {
  calm: "When is the staging cluster restarted?",
  hostile: `When is <b data-hostile>staging</b> restarted? ${HOSTILE.join(" ")}`.replace("\u0007", ""),
};

export function world(folder, program) {
  const docs = join(folder, "docs");
  mkdirSync(docs);
  const restart = "The staging cluster is restarted every night at 03:15 by the job nightly-restart.\n";
  writeFileSync(join(docs, "restart.md"), `# Restart\n\n## Staging\n\n${restart}`);
  writeFileSync(join(docs, "<img src=x onerror=alert(6)>.md"), `# ${HOSTILE[0]}\n\n${restart}\n${HOSTILE.join("\n\n")}\n`);
  for (let n = 0; n < 40; n += 1) {
    writeFileSync(join(docs, `note-${n}.md`), `# Note ${n} ${HOSTILE[n % HOSTILE.length]}\n\nThe cluster in room ${n} was restarted by hand.\n\n${restart}`);
  }
  const env = { PATH: process.env.PATH, HOME: folder, CTXRT_STORE: join(folder, "store"), TZ: "UTC", LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH ?? "" };
  const text = (goal, args, code = 0) => {
    // Outcomes change later plans. Two forms of one explanation are compared only where both start from the same experience: none.
    rmSync(env.CTXRT_STORE, { recursive: true, force: true });
    const done = spawnSync(program, ["explain", "--goal", goal, "--source", "docs=./docs", ...args], { cwd: folder, env, encoding: "utf8", maxBuffer: 1 << 28 });
    // A run may abstain: then it has a tree with actuals all the same.
    if (done.status !== code && !(args.includes("--analyze") && [4, 5].includes(done.status))) {
      throw new Error(`explain ${args.join(" ")} ended with ${done.status}: ${done.stderr}`);
    }
    return done.stdout;
  };
  return { text, json: (goal, args) => JSON.parse(text(goal, [...args, "--json"])) };
}
