/** Imports every entry point. */
const entryPoints = ["", "/agent", "/domain", "/llm", "/promise", "/testing", "/tools"]
for (const path of entryPoints) await import(`a2c-smcp${path}`)
console.log(entryPoints.length)
