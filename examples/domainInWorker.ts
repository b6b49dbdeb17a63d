/** Runs the domain in a worker, bundled for a browser: a dependency on Node would break the bundle. */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { build } from "esbuild"

const { outputFiles } = await build({
  entryPoints: [new URL("./shared/desktopWorker.ts", import.meta.url).pathname],
  bundle: true,
  platform: "browser",
  conditions: ["a2c-source"],
  write: false
})

const channel = new BroadcastChannel("desktop")
const worker = new Worker(outputFiles[0]?.text ?? "", { eval: true })
channel.onmessage = ({ data }) => {
  console.log(data)
  void worker.terminate()
}
await once(worker, "exit")
channel.close()
