// graphile-worker, driven as sides/protocol.py says: addJobs, the local queue, batched completions.
const readline = require("node:readline");
const { Logger, makeWorkerUtils, run, runMigrations } = require("graphile-worker");

const WARM_UPS = 30;
const IDLE_MS = 4;

const connectionString = process.argv[2];
const quiet = new Logger(() => (level, message) => {
  if (level === "error") process.stderr.write(`${message}\n`);
});
let onRun = null;
let runner = null;
let utils = null;

const now = () => Number(process.hrtime.bigint()) / 1e9; // the same monotonic clock as Python's
const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const noop = () => {
  if (onRun) {
    const tell = onRun;
    onRun = null;
    tell(now());
  }
};
const nextRun = () => new Promise((resolve) => (onRun = resolve));

async function work(settings) {
  utils ??= await makeWorkerUtils({ connectionString, logger: quiet });
  runner = await run({
    preset: { worker: { connectionString, ...settings } },
    taskList: { noop },
    logger: quiet,
    noHandleSignals: true,
  });
}

const orders = {
  async install() {
    await runMigrations({ connectionString, logger: quiet });
    return {};
  },
  async enqueue({ count, with: { batch } }) {
    utils ??= await makeWorkerUtils({ connectionString, logger: quiet });
    const specs = Array.from({ length: count }, () => ({ identifier: "noop", payload: {} }));
    const batches = [];
    for (let at = 0; at < count; at += batch) batches.push(specs.slice(at, at + batch));
    const began = now();
    for (const one of batches) await utils.addJobs(one);
    return { seconds: now() - began };
  },
  async work({ with: settings }) {
    nextRun().then((began) => say({ began }));
    await work(settings);
    return {};
  },
  async rest() {
    await runner.stop();
    return {};
  },
  async pickup({ count, with: settings }) {
    await work(settings);
    const ms = [];
    for (let i = 0; i < WARM_UPS + count; i++) {
      await pause(IDLE_MS);
      const first = nextRun();
      const began = now();
      await utils.addJob("noop", {});
      ms.push(((await first) - began) * 1000);
    }
    await runner.stop();
    return { ms: ms.slice(WARM_UPS) };
  },
};

async function obey() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    say(await orders[order.do](order));
  }
  if (utils) await utils.release();
  process.exit(0);
}

obey().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
