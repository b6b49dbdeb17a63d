/** Imports every entry point, and uses the domain. */
import { useDomain } from "./portable.ts"

const entryPoints = ["", "/agent", "/computer", "/domain", "/llm", "/promise", "/testing", "/tools"]
for (const path of entryPoints) await import(`a2c-smcp${path}`)
console.log(entryPoints.length)
console.log(JSON.stringify(useDomain()))
