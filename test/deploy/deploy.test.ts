import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parse as parseYaml } from "yaml"
import { metricDefinitions, metricPrefix } from "../../src/application/server/observability/ServerMetrics.ts"

const read = (file: string): string => readFileSync(join("deploy", file), "utf8")

const yaml = (file: string): unknown => parseYaml(read(file), { merge: true })

const files = readdirSync("deploy", { recursive: true, withFileTypes: true }).flatMap((entry) =>
  entry.isFile() && !entry.parentPath.includes("secrets") ? [join(entry.parentPath, entry.name)] : []
)

interface ComposeService {
  readonly image: string
  readonly build?: { readonly target: string }
  readonly entrypoint?: ReadonlyArray<string>
  readonly command: ReadonlyArray<string>
  readonly stop_grace_period?: string
  readonly read_only?: boolean
  readonly cap_drop?: ReadonlyArray<string>
  readonly security_opt?: ReadonlyArray<string>
  readonly secrets?: ReadonlyArray<string>
  readonly configs?: ReadonlyArray<{ readonly source: string }>
  readonly healthcheck?: unknown
  readonly depends_on?: { readonly [service: string]: { readonly condition: string } }
}

interface Compose {
  readonly services: { readonly [name: string]: ComposeService }
  readonly secrets: { readonly [name: string]: { readonly file: string } }
  readonly configs: { readonly [name: string]: { readonly file: string } }
}

const compose = yaml("compose.yaml") as Compose
const services = Object.entries(compose.services)
const dockerfile = read("Dockerfile")
const units = readdirSync("deploy/systemd").map((name) => read(join("systemd", name)))
const chart = yaml("helm/a2c/Chart.yaml") as { readonly version: string; readonly appVersion: string }
const template = read("helm/a2c/templates/deployment.yaml")

const { devDependencies, version } = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly version: string
  readonly devDependencies: { readonly [name: string]: string }
}

/** All first groups of the pattern. */
const all = (text: string, pattern: RegExp): ReadonlyArray<string> =>
  [...text.matchAll(pattern)].map(([, found = ""]) => found)

/** The first group of the pattern, which must match. */
const one = (text: string, pattern: RegExp): string => {
  const [, found] = pattern.exec(text) ?? []
  if (found === undefined) throw new Error(`${pattern} does not match`)
  return found
}

const words = (text: string): ReadonlyArray<string> => text.trim().split(/\s+/)

describe("a metric of the dashboard and the rules", () => {
  const used = ["grafana/dashboard.json", "prometheus/rules.yml", "prometheus/rules.test.yml"].flatMap((file) =>
    all(read(file), /\b(a2c_\w+)/g).map((name) => ({ file, name }))
  )
  const series = Object.entries(metricDefinitions).flatMap(([name, { kind }]) =>
    (kind === "histogram" ? ["_bucket", "_sum", "_count"] : [""]).map((suffix) => metricPrefix + name + suffix)
  )

  it("exists in the Server", () => {
    assert.isAbove(used.length, 50)
    assert.deepStrictEqual(
      used.filter(({ name }) => !series.includes(name)),
      []
    )
  })

  it("has the labels by which it is grouped", () => {
    const known = [
      "job",
      "instance",
      "le",
      "alertname",
      ...Object.values(metricDefinitions).flatMap(({ labels }) => labels)
    ]
    const grouped = used.flatMap(({ file }) => all(read(file), /(?:by|ignoring) \(([^)]*)\)/g))
    assert.isAbove(grouped.length, 0)
    assert.deepStrictEqual(
      grouped.flatMap((group) => group.split(/,\s*/)).filter((label) => !known.includes(label)),
      []
    )
  })
})

describe("a command line of the deployment", () => {
  const ofCompose = services.flatMap(([, { command, entrypoint = ["a2c"], image }]) =>
    image.startsWith("a2c-smcp") ? [[...entrypoint, ...command]] : []
  )
  const ofImage = [
    ...all(dockerfile, /^HEALTHCHECK .* CMD .*"(a2c .*?) \|\| /gm).map(words),
    ...all(dockerfile, /^CMD (\[.*\])$/gm).map((list) => ["a2c", ...(JSON.parse(list) as Array<string>)])
  ]
  const ofUnits = units.flatMap((unit) => all(unit, /^ExecStart=\/usr\/bin\/env (.*)$/gm).map(words))
  const ofChart = all(template, /args: (\[.*\])/g).map((list) => ["a2c", ...(JSON.parse(list) as Array<string>)])
  const ofSecrets = all(read("compose/makeSecrets"), /^add (.*)$/gm).map((args) => [
    "a2c",
    "server",
    "key",
    "--subject",
    ...words(args)
  ])

  /** Parses command lines with the real command, without executing them, and returns the error of each. */
  const parse = (lines: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string | null> => {
    const folder = mkdtempSync(join(tmpdir(), "a2c-deploy-"))
    try {
      // Parsing reads the files of flags and of secrets.
      const settings = join(folder, "server.yaml")
      const { config } = yaml("helm/a2c/values.yaml") as { readonly config: object }
      writeFileSync(settings, JSON.stringify(config))
      const input = lines.map(([, ...args]) =>
        args.map((arg) => arg.replace(/\S*\/server\.yaml$/, settings).replace(/@\/.*/, `@${settings}`))
      )
      const { stderr } = spawnSync(process.execPath, ["test/fixtures/parsedOnly.ts"], {
        encoding: "utf8",
        input: JSON.stringify(input)
      })
      return JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as ReadonlyArray<string | null>
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  it("parses without an error", () => {
    assert.deepStrictEqual(
      [ofCompose, ofImage, ofUnits, ofChart, ofSecrets].map(({ length }) => length),
      [4, 3, 2, 1, 4]
    )
    const lines = [...ofCompose, ...ofImage, ...ofUnits, ...ofChart, ...ofSecrets]
    assert.deepStrictEqual(
      parse(lines).map((error, index) => [lines[index]?.join(" "), error]),
      lines.map((line) => [line.join(" "), null])
    )
  })

  it("fails to parse with a wrong flag", () => {
    const [error] = parse([["a2c", "server", "--graze=20"]])
    assert.include(error, "--graze")
  })
})

describe("a setting of the deployment", () => {
  const variables = readFileSync("docs/reference/variables.md", "utf8")
  const commands = readFileSync("docs/reference/commands.md", "utf8")

  it("is a variable of the command", () => {
    const used = files.flatMap((file) =>
      all(readFileSync(file, "utf8"), /\b(A2C_[A-Z_]+)/g).map((name) => ({ file, name }))
    )
    assert.isAbove(used.length, 10)
    assert.deepStrictEqual(
      used.filter(({ name }) => !variables.includes(`\n| \`${name}\` |`)),
      []
    )
  })

  it("excludes only flags of the Server from the chart's config", () => {
    const schema = JSON.parse(read("helm/a2c/values.schema.json")) as {
      readonly properties: {
        readonly config: { readonly propertyNames: { readonly not: { readonly enum: ReadonlyArray<string> } } }
      }
    }
    const names = schema.properties.config.propertyNames.not.enum
    assert.deepStrictEqual(
      names.filter((name) => !commands.includes(`\n| \`--${name} `)),
      []
    )
  })

  it("lists the commands of Redis that the cluster needs", () => {
    const permissions = /resetkeys .*\+zscore$/m
    assert.strictEqual(
      permissions.exec(read("compose/makeSecrets").split("user a2c on")[1] ?? "")?.[0],
      permissions.exec(readFileSync("docs/cluster.md", "utf8"))?.[0]
    )
  })
})

describe("a version of the deployment", () => {
  it("equals the version of the package", () => {
    const tags = [
      ...services.flatMap(([, { image }]) => all(image, /^a2c-smcp.*:(.*)$/g)),
      ...all(read("compose/makeSecrets"), /a2c-smcp:([\d.]+\d)/g),
      chart.version,
      chart.appVersion
    ]
    assert.strictEqual(tags.length, 7)
    assert.deepStrictEqual([...new Set(tags)], [version])
  })

  it("equals the version of Node and of the MCP servers in the tests", () => {
    assert.strictEqual(one(dockerfile, /NODE_VERSION=(.*)/), devDependencies["node"])
    for (const [name, variable] of [
      ["everything", "EVERYTHING_VERSION"],
      ["memory", "MEMORY_VERSION"]
    ] as const) {
      assert.strictEqual(
        one(dockerfile, new RegExp(`${variable}=(.*)`)),
        devDependencies[`@modelcontextprotocol/server-${name}`]
      )
    }
  })
})

describe("a time limit of the deployment", () => {
  it("exceeds the grace time of the Server", () => {
    const { command = [], stop_grace_period: period = "" } = compose.services["server"] ?? {}
    assert.isAbove(Number.parseInt(period), Number(one(command.join(" "), /--drain-timeout=(\d+)/)))
    const unit = read("systemd/a2c-server.service")
    assert.isAbove(Number(one(unit, /TimeoutStopSec=(\d+)/)), Number(one(unit, /A2C_DRAIN_TIMEOUT=(\d+)/)))
  })
})

describe("a service of compose.yaml", () => {
  it("has a read-only file system and no privileges", () => {
    for (const [name, { cap_drop, read_only, security_opt }] of services) {
      assert.deepStrictEqual([read_only, cap_drop, security_opt], [true, ["ALL"], ["no-new-privileges:true"]], name)
    }
  })

  it("waits only for services with a health check", () => {
    for (const [name, { depends_on = {} }] of services) {
      for (const [other, { condition }] of Object.entries(depends_on)) {
        assert.strictEqual(condition, "service_healthy", name)
        const { build, healthcheck } = compose.services[other] ?? {}
        assert.isTrue(healthcheck !== undefined || build?.target === "a2c", `${name} waits for ${other}`)
      }
    }
  })

  it("uses secrets and files that exist", () => {
    const made = read("compose/makeSecrets")
    for (const [name, { configs = [], secrets = [] }] of services) {
      for (const secret of secrets) {
        assert.isTrue(secret in compose.secrets, `${name}: ${secret}`)
        const stem = secret.replace(/\.key$/, "")
        assert.isTrue(made.includes(`> ${secret}`) || made.includes(`\nadd ${stem} `), `no command makes ${secret}`)
      }
      for (const { source } of configs) assert.isNotEmpty(read(compose.configs[source]?.file ?? "missing"), name)
    }
  })
})
