/** Writes the reference in docs from the code, and the summary of the conformance suite in docs/mcp.md. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { generateReference, referenceFolder } from "./reference/generate.ts"
import { mcpGuide, readMcpGuide, withSummary } from "./reference/mcpConformance.ts"

const pages = await generateReference()
rmSync(referenceFolder, { recursive: true, force: true })
mkdirSync(referenceFolder, { recursive: true })
for (const [file, text] of pages) writeFileSync(join(referenceFolder, file), text)
writeFileSync(mcpGuide, withSummary(readMcpGuide()))
