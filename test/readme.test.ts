import { execFile, execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { metricDefinitions, metricPrefix } from "../src/application/server/observability/ServerMetrics.ts"
import { documentedOptions, optionsProgram } from "../scripts/docsOptions.ts"
import { docsPrograms, documents, programOptions } from "../scripts/docsPrograms.ts"
import { errorCodes } from "../src/domain/model/ProtocolError.ts"
import { ownCodes } from "../src/main/A2cError.ts"
import { listFiles } from "./listFiles.ts"

const run = promisify(execFile)
const text = documents.map((name) => readFileSync(name, "utf8")).join("\n")

/** The code blocks of a language in a page. */
const blocksOf = (page: string, language: string): ReadonlyArray<string> =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, block = ""]) => block)

/** The code blocks of a language in README and docs. */
const blocks = (language: string): ReadonlyArray<string> => blocksOf(text, language)

/** Removes indentation, which depends on where a snippet stands in its example. */
const flat = (code: string): string =>
  `\n${code
    .trim()
    .split("\n")
    .map((line) => line.trim())
    .join("\n")}\n`

const programsIn = (folder: string): ReadonlyArray<string> =>
  listFiles(folder)
    .filter((path) => path.endsWith(".ts"))
    .map((path) => flat(readFileSync(path, "utf8")))

/** The programs that `a2c tools new word_count` writes. */
const newPack = (): ReadonlyArray<string> => {
  const folder = mkdtempSync(join(tmpdir(), "a2c-readme-"))
  try {
    execFileSync(process.execPath, ["src/main/cli/a2c.ts", "tools", "new", "word_count", "--dir", folder])
    return programsIn(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const examples = [...programsIn("examples"), ...newPack()]

const packageJson = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly peerDependencies: { readonly [name: string]: string }
  readonly exports: { readonly [path: string]: string | { readonly "a2c-source": string } }
  readonly files: ReadonlyArray<string>
}

/** True when the text contains the pieces in this order; other lines may stand between them. */
const holds = (text: string, [piece, ...others]: ReadonlyArray<string>): boolean => {
  if (piece === undefined) return true
  const start = text.indexOf(piece)
  return start >= 0 && holds(text.slice(start + piece.length - 1), others)
}

/** Parses command lines with the real command, without executing them, and returns the error of each. */
const parse = (lines: ReadonlyArray<string>): ReadonlyArray<string | null> => {
  // The shell splits each line into arguments.
  const script = `a2c() { printf '%s\\0' "$@" >&3; printf '\\0' >&3; }\n${lines.join("\n")}`
  const { output } = spawnSync("sh", ["-c", script], {
    encoding: "utf8",
    stdio: ["ignore", "ignore", "inherit", "pipe"]
  })
  const split = (output[3] ?? "").split("\0\0").slice(0, -1)
  const input = JSON.stringify(split.map((args) => args.split("\0")))
  const { stderr } = spawnSync(process.execPath, ["test/fixtures/parsedOnly.ts"], {
    encoding: "utf8",
    input,
    timeout: 120_000
  })
  return JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as ReadonlyArray<string | null>
}

describe("a program in README and docs", () => {
  const programs = blocks("ts")

  it("occurs at least once", () => assert.isAbove(programs.length, 0))

  for (const program of programs) {
    it(`occurs in an example: ${program.split("\n", 1)[0]}`, () => {
      const pieces = program.split(/\n\s*\n/).map(flat)
      assert.isTrue(
        examples.some((example) => holds(example, pieces)),
        `no example has\n${program}`
      )
    })
  }
})

describe("each program of README and docs", () => {
  it("compiles with strict settings, and so do the options in tables and sentences", { timeout: 180_000 }, async () => {
    const cache = resolve("node_modules/.cache")
    mkdirSync(cache, { recursive: true })
    const folder = mkdtempSync(join(cache, "docs-programs-"))
    try {
      const programs = docsPrograms()
      assert.isAbove(programs.length, 5)
      for (const [index, { code }] of programs.entries()) writeFileSync(join(folder, `${index}.mts`), code)
      const options = documentedOptions()
      assert.isAbove(options.length, 50)
      writeFileSync(join(folder, "options.mts"), optionsProgram(options))
      const paths = Object.fromEntries(
        Object.entries(packageJson.exports).flatMap(([path, target]) =>
          typeof target === "string" ? [] : [[`a2c-smcp${path.slice(1)}`, [resolve(target["a2c-source"])]]]
        )
      )
      // The sources read members of an index signature by name.
      const sources = { paths, skipLibCheck: true, noPropertyAccessFromIndexSignature: false }
      const compilerOptions = { ...programOptions, ...sources, allowImportingTsExtensions: true }
      const settings = { compilerOptions, include: ["*.mts"] }
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
      const { stdout } = await run("node_modules/.bin/tsc", ["-p", folder]).catch((error: { stdout: string }) => error)
      assert.strictEqual(stdout, "", programs.map(({ section }, index) => `${index}: ${section}`).join(", "))
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe("a command in README and docs", () => {
  /** The commands of a page; those after `export A2C_OFFICE=…` need no `--office`. */
  const commandsIn = (page: string): ReadonlyArray<string> => {
    const lines = blocksOf(page, "sh")
      .flatMap((block) => block.replaceAll(/\\\n\s*/g, "").split("\n"))
      .map((line) => line.replace(/^npx (?=a2c )/, "").replace(/^npx -y a2c-cli (?=[a-z])/, "a2c "))
    const exported = lines.findIndex((line) => /^export .*\bA2C_OFFICE=/.test(line))
    return lines.map((line, index) =>
      exported >= 0 && index > exported ? line.replace(/^a2c agent (?!.*--office)/, "a2c agent --office team ") : line
    )
  }
  const typed = documents
    .flatMap((name) => commandsIn(readFileSync(name, "utf8")))
    .filter((line) => line.startsWith("a2c "))
    // Commands write no files here.
    .map((line) => line.replace(/ > \S+/, " > /dev/null"))
  /** Command lines in configurations. */
  const started = [...text.matchAll(/"args": \["-y", "a2c-cli", ([^\]]*)\]/g)].map(
    // A file of a secret must exist.
    ([, words = ""]) => `a2c ${words.replaceAll(",", "").replace("@device.token", "@package.json")}`
  )
  const lines = [...typed, ...started]

  it("occurs at least once", () => assert.isTrue(typed.length > 0 && started.length > 0))

  it("parses without an error", () => {
    assert.deepStrictEqual(
      parse(lines).map((error, index) => [lines[index], error]),
      lines.map((line) => [line, null])
    )
  })

  it("fails to parse with a wrong flag or subcommand", () => {
    const [tools, command, port] = parse([
      "a2c agent --office team mcp --tools some",
      "a2c agent --office team mpc",
      "a2c server --prot 1"
    ])
    assert.include(tools, "--tools")
    assert.include(command, "mpc")
    assert.include(port, "--prot")
  })
})

describe("a configuration in README and docs", () => {
  for (const config of blocks("json").filter((block) => /"(?:servers|mcpServers)"/.test(block))) {
    it(`loads: ${config.split("\n", 2).join("")}`, { timeout: 180_000 }, async () => {
      const folder = await mkdtemp(join(tmpdir(), "a2c-readme-"))
      try {
        const file = join(folder, "mcp.json")
        await writeFile(file, config)
        await run(process.execPath, ["src/main/cli/a2c.ts", "computer", "check", file])
      } finally {
        await rm(folder, { recursive: true })
      }
    })
  }
})

describe("a link in the package", () => {
  /** Files of the repository outside the package are linked by URL. */
  const repository = /https:\/\/github\.com\/a2c-smcp\/a2c-smcp\/(?:blob|tree)\/main\/([^)#\s]+)/g
  const packed = [...packageJson.files, "README.md", "package.json"]
  const isPacked = (file: string): boolean => packed.some((path) => file === path || file.startsWith(`${path}/`))

  for (const file of documents) {
    it(`resolves to a packed file in ${file}`, () => {
      const document = readFileSync(file, "utf8")
      for (const [, target = ""] of document.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)) {
        assert.isTrue(isPacked(join(dirname(file), target)), `${file} links to ${target}`)
      }
      for (const [url, path = ""] of document.matchAll(repository)) {
        assert.isTrue(existsSync(path) && !isPacked(path), `${file} links to ${url}`)
      }
    })
  }
})

describe("the reference in docs", () => {
  const troubleshooting = readFileSync("docs/troubleshooting.md", "utf8")

  it("lists every error code", () => {
    for (const code of Object.values(errorCodes)) {
      const listed = code >= 4201 && code <= 4204 ? "| 4201 – 4204 |" : `| ${code} |`
      assert.include(troubleshooting, listed)
    }
    for (const code of Object.values(ownCodes)) assert.include(troubleshooting, `\`${code}\``)
  })

  it("lists every command", () => {
    const reference = readFileSync("docs/reference/commands.md", "utf8")
    const commands = [...reference.matchAll(/^## (a2c .*)$/gm)].map(([, command = ""]) => command)
    const leaves = commands.filter((command) => !commands.some((other) => other.startsWith(`${command} `)))
    assert.isAbove(leaves.length, 10)
    // A row lists `a2c agent members`, and the siblings of `members` by their last word.
    const listed = [...readFileSync("docs/cli.md", "utf8").matchAll(/^\| (`a2c .*?) \|/gm)].flatMap(([, cell = ""]) => {
      const [first = "", ...siblings] = [...cell.matchAll(/`([a-z0-9 ]+)[^`]*`/g)].map(([, words = ""]) => words.trim())
      return [first, ...siblings.map((sibling) => first.replace(/\S+$/, sibling))]
    })
    assert.deepStrictEqual(
      leaves.filter((command) => !listed.includes(command)),
      []
    )
    assert.deepStrictEqual(
      listed.filter((command) => !commands.includes(command)),
      []
    )
  })

  it("lists every log message from level info on", () => {
    const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))
    const level = "Effect\\.log(?:Info|Warning|Error)"
    const messages = sources.flatMap((name) => {
      const source = readFileSync(join("src", name), "utf8")
      // A level may depend on a condition: `const log = isNew ? Effect.logInfo : Effect.logDebug`.
      const aliases = [...source.matchAll(new RegExp(`const (\\w+) = [^\\n(]*${level}\\b(?!\\()`, "g"))].map(
        ([, alias = ""]) => `\\b${alias}`
      )
      // A message may also depend on a condition: `Effect.logWarning(lost > 0 ? "one" : "other")`.
      const call = `(?:${[level, ...aliases].join("|")})\\(\\s*(?:[^"\`();]*\\?\\s*)?`
      const message = '["`]([^"`]+)["`]'
      return [...source.matchAll(new RegExp(`${call}${message}(?:\\s*:\\s*${message})?`, "g"))].flatMap(
        ([, one = "", other]) => (other === undefined ? [one] : [one, other])
      )
    })
    assert.isAbove(messages.length, 50)
    assert.deepStrictEqual(
      messages.filter((message) => !troubleshooting.includes(`\`${message}\``)),
      []
    )
  })

  it("names the versions of effect and of the VRL package that work", () => {
    const { effect = "", ["@bpinternal/verel"]: verel = "" } = packageJson.peerDependencies
    assert.include(readFileSync("docs/versions.md", "utf8"), `works with effect from ${effect.replace("^", "")} on`)
    for (const page of ["docs/configuration.md", "docs/deployment.md", "scripts/command/README.md"]) {
      assert.include(readFileSync(page, "utf8"), `@bpinternal/verel@${verel.replace("^", "")}`)
    }
  })

  it("lists every metric with its help text", () => {
    const server = readFileSync("docs/server.md", "utf8")
    for (const [name, { help, labels }] of Object.entries(metricDefinitions)) {
      const series = labels.length === 0 ? name : `${name}{${labels.join(",")}}`
      assert.include(server, `| \`${metricPrefix}${series}\` | ${help} |`)
    }
  })
})
