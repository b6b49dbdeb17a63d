/** Imports every entry point, and uses the domain. */
import worker from "./worker.ts"

const entryPoints = ["", "/agent", "/domain", "/llm", "/promise", "/testing", "/tools"]
for (const path of entryPoints) await import(`a2c-smcp${path}`)
console.log(entryPoints.length)
console.log(await worker.fetch().text())
