/**
 * Checks the files of `deploy` with the tools that read them, and starts their services by hand: the same commands,
 * arguments and files as in containers and units, on loopback addresses. Tools are installed on first use.
 *
 * With `A2C_TEST_STRICT=1` a check that cannot run fails, unless a toolchain such as Go is missing.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parse, parseAllDocuments } from "yaml"
import { locate } from "../test/programs/Program.ts"
import { redisServer } from "../test/programs/redisServer.ts"
import { type Manifest, makeManifestValidator } from "./deployment/kubernetes.ts"
import { NotPossible, requireCommand, run, toolPath, tools } from "./deployment/programs.ts"
import { packArchives } from "./packedProject.ts"
import { pings, Site, type Start, until } from "./deployment/Site.ts"

const deploy = resolve("deploy")
const chart = join(deploy, "helm/a2c")
const unitNames = readdirSync(join(deploy, "systemd"))

interface Compose {
  readonly services: {
    readonly [name: string]: {
      readonly entrypoint?: ReadonlyArray<string>
      readonly command: ReadonlyArray<string>
      readonly configs?: ReadonlyArray<{ readonly source: string; readonly target: string }>
    }
  }
  readonly configs: { readonly [name: string]: { readonly file: string } }
}

const compose = parse(readFileSync(join(deploy, "compose.yaml"), "utf8"), { merge: true }) as Compose

const composed = (service: string, entrypoint: ReadonlyArray<string> = []): Start => {
  const { command = [], entrypoint: given = entrypoint } = compose.services[service] ?? {}
  return { args: [...given, ...command] }
}

const assert = (condition: boolean, message: string): void => {
  if (!condition) throw new Error(message)
}

/** Asserts that a check rejects what is wrong. */
const assertFails = (what: string, command: string, args: ReadonlyArray<string>): void => {
  try {
    run(command, args)
  } catch {
    return
  }
  throw new Error(`accepted: ${what}`)
}

/** Renders the chart and returns its manifests. YAML 1.1, as Kubernetes reads it. */
const render = (helm: string, ...flags: ReadonlyArray<string>): ReadonlyArray<Manifest> =>
  parseAllDocuments(run(helm, ["template", "office", chart, "--kube-version", "1.37.0", ...flags]), {
    version: "1.1"
  }).map((document) => document.toJS() as Manifest)

const allValues = ["--values", join(chart, "ci/all-values.yaml")]

/** A section of a unit as a list of settings. */
const unitSettings = (name: string, instance: string, credentials: string): ReadonlyArray<readonly [string, string]> =>
  readFileSync(join(deploy, "systemd", name), "utf8")
    .split("\n")
    .filter((line) => /^\w+=/.test(line))
    .map((line) => {
      const [, key = "", value = ""] = /^(\w+)=(.*)$/.exec(line) ?? []
      const specifiers: { readonly [letter: string]: string } = {
        d: credentials,
        C: "/var/cache",
        S: "/var/lib",
        i: instance
      }
      return [key, value.replaceAll(/%(\w)/g, (_, letter: string) => specifiers[letter] ?? "")]
    })

/** The command line of a unit. Its credentials are in the folder of the secrets. */
const unitStart = (name: string, instance = ""): Start => {
  const settings = unitSettings(name, instance, "/run/secrets")
  const values = (key: string) => settings.flatMap(([one, value]) => (one === key ? [value] : []))
  const [, ...args] = (values("ExecStart")[0] ?? "").split(" ")
  return { args, env: Object.fromEntries(values("Environment").map((text) => text.split(/=(.*)/s).slice(0, 2))) }
}

interface Deployment extends Manifest {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly containers: ReadonlyArray<{
          readonly args: ReadonlyArray<string>
          readonly env: ReadonlyArray<{ readonly name: string; readonly value?: string }>
        }>
      }
    }
  }
}

/** The command line of the chart's container. */
const podStart = (manifests: ReadonlyArray<Manifest>): Start => {
  const { spec } = manifests.find(({ kind }) => kind === "Deployment") as Deployment
  const [container] = spec.template.spec.containers
  const env = (container?.env ?? []).map(({ name, value }) => [name, value ?? ""])
  return { args: ["a2c", ...(container?.args ?? [])], env: Object.fromEntries(env) }
}

/** The folder in which the package is installed as in the image; later checks start its command. */
const image = mkdtempSync(join(tmpdir(), "a2c-image-"))
const a2c = join(image, "bin")

/** A site with the secrets of compose.yaml. */
const makeSite = (): Site => {
  const site = new Site(a2c)
  const secrets = join(site.root, "secrets")
  execFileSync(join(deploy, "compose/makeSecrets"), [secrets], { env: { ...site.env(), A2C: "a2c" }, stdio: "pipe" })
  for (const name of readdirSync(secrets)) site.copy(join(secrets, name), join("/run/secrets", name))
  for (const name of ["home", "data", "prometheus"]) mkdirSync(join(site.root, name), { recursive: true })
  for (const { configs = [] } of Object.values(compose.services)) {
    for (const { source, target } of configs) site.copy(join(deploy, compose.configs[source]?.file ?? ""), target)
  }
  return site
}

/** The health check of the image. */
const isHealthy = (site: Site) => async (): Promise<boolean> => {
  run("a2c", ["server", "health", site.url], site.root, site.env())
  return true
}

const startRedis = (site: Site) => {
  const program = locate(redisServer)
  if (program === undefined) throw new NotPossible(`needs Redis: ${redisServer.advice}`, false)
  const { host, port } = site.addresses.redis
  const [, ...args] = composed("redis").args
  const start = { args: [program, ...args, "--bind", host, "--port", String(port), "--dir", site.root] }
  return site.startReady(start, () => pings(site.addresses.redis))
}

const checkCompose = async (): Promise<void> => {
  await using site = makeSite()
  await startRedis(site)
  const server = await site.startReady(composed("server", ["a2c"]), isHealthy(site))
  for (const name of ["desk", "library"]) {
    await site.startReady(composed(name, ["a2c"]), async ({ output }) =>
      output().includes(`joined office team as ${name}`)
    )
  }
  const [agent = "", ...flags] = (compose.services["agent"]?.entrypoint ?? []).map((arg) => site.localize(arg))
  const call = (...args: ReadonlyArray<string>) => run(agent, [...flags, "call", ...args], site.root, site.env())
  const sum = call("get-sum", "a=2", "b=3")
  assert(sum === "The sum of 2 and 3 is 5.\n", `the call printed ${sum}`)
  call("create_entities", "--args", '{"entities": [{"name": "n", "entityType": "t", "observations": ["noted"]}]}')
  assert(readFileSync(join(site.root, "data/memory.jsonl"), "utf8").includes("noted"), "the memory has no entry")
  assert((await server.stop()) === 0, `the Server ended with an error:\n${server.output()}`)
}

/** Every query of the dashboard, with its variables replaced. */
const dashboardQueries = (): ReadonlyArray<string> => {
  const { panels } = JSON.parse(readFileSync(join(deploy, "grafana/dashboard.json"), "utf8")) as {
    readonly panels: ReadonlyArray<{ readonly targets?: ReadonlyArray<{ readonly expr: string }> }>
  }
  return panels
    .flatMap(({ targets = [] }) => targets)
    .map(({ expr }) => expr.replaceAll("$__rate_interval", "1m").replaceAll(/\$(?:job|instance)/g, ".*"))
}

const checkPrometheus = async (): Promise<void> => {
  const prometheus = await toolPath(tools.prometheus)
  await using site = makeSite()
  await startRedis(site)
  await site.startReady(composed("server", ["a2c"]), isHealthy(site))
  // Scrapes often, to end soon.
  const file = "/etc/prometheus/prometheus.yml"
  site.write(file, readFileSync(join(site.root, file), "utf8").replaceAll("15s", "1s"))
  const { host, port } = site.addresses.prometheus
  const listen = `--web.listen-address=${host}:${port}`
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(`http://${host}:${port}/api/v1/${path}`)
    assert(response.ok, `${path}: ${await response.clone().text()}`)
    return ((await response.json()) as { readonly data: unknown }).data
  }
  const query = async (expression: string) =>
    (await get(`query?query=${encodeURIComponent(expression)}`)) as {
      readonly result: ReadonlyArray<{ readonly value: readonly [number, string] }>
    }
  await site.startReady(composed("prometheus", [prometheus, listen]), async () => {
    const { result } = await query('a2c_ready{job="a2c"} + a2c_registry_up')
    return result[0]?.value[1] === "2"
  })
  const queries = dashboardQueries()
  const results = await Promise.all(queries.map(query))
  const filled = results.filter(({ result }) => result.length > 0).length
  // Counters have no series before their first event.
  assert(filled >= queries.length / 2, `only ${filled} of ${queries.length} queries have data`)
  await until("the rules are evaluated", async () => {
    const { groups } = (await get("rules")) as {
      readonly groups: ReadonlyArray<{
        readonly rules: ReadonlyArray<{ readonly health: string; readonly state: string }>
      }>
    }
    const rules = groups.flatMap((group) => group.rules)
    return rules.length > 10 && rules.every(({ health, state }) => health === "ok" && state === "inactive")
  })
}

const checks: ReadonlyArray<readonly [string, () => Promise<void> | void]> = [
  [
    "the Dockerfile passes hadolint",
    async () => {
      const hadolint = await toolPath(tools.hadolint)
      process.stdout.write(run(hadolint, [join(deploy, "Dockerfile")]))
    }
  ],
  [
    "the package installs as in the Dockerfile",
    () => {
      const quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
      run("npm", ["install", "--global", "--prefix", image, ...quiet, packArchives(image).command])
      run(join(a2c, "a2c"), ["--help"])
    }
  ],
  [
    "compose.yaml is valid",
    async () => {
      const load = await toolPath(tools.compose)
      run(load, ["compose.yaml"], deploy)
    }
  ],
  ["the services of compose.yaml work together", checkCompose],
  [
    "systemd accepts the units, and rates their exposure as low",
    () => {
      requireCommand("systemd-analyze", "--version")
      for (const name of unitNames) {
        const unit = join(deploy, "systemd", name)
        // Unknown settings are warnings.
        const output = run("sh", ["-c", 'systemd-analyze verify --man=no "$0" 2>&1', unit])
        assert(!output.includes(name), output)
        run("systemd-analyze", ["security", "--offline=true", "--threshold=20", unit])
      }
    }
  ],
  [
    "the commands of the units start",
    async () => {
      await using site = makeSite()
      site.write("/etc/a2c/server.yaml", "max-connections: 100\n")
      await site.startReady(unitStart("a2c-server.service"), isHealthy(site))
      site.copy(join(deploy, "compose/desk.json"), "/etc/a2c/computer-desk.json")
      site.copy(join(site.root, "run/secrets/desk.key"), "/run/secrets/token")
      const { args, env = {} } = unitStart("a2c-computer@.service", "desk")
      mkdirSync(join(site.root, "var/lib/a2c-computer/desk"), { recursive: true })
      const computer = { args, env: { ...env, A2C_SERVER: site.url, A2C_OFFICE: "team" } }
      await site.startReady(computer, async ({ output }) => output().includes("joined office team as desk"))
    }
  ],
  [
    "the chart passes helm lint, and its manifests match the API of Kubernetes",
    async () => {
      const helm = await toolPath(tools.helm)
      run(helm, ["lint", "--strict", chart])
      run(helm, ["lint", "--strict", chart, ...allValues])
      assertFails("several Servers without Redis", helm, ["template", chart, "--set", "replicaCount=2"])
      assertFails("a port in config", helm, ["template", chart, "--set", "config.port=1"])
      const validate = makeManifestValidator()
      const manifests = [...render(helm), ...render(helm, ...allValues)]
      const kinds = new Set(manifests.map(({ kind }) => kind))
      assert(kinds.size === 6, `the chart renders ${[...kinds].join(", ")}`)
      const errors = manifests.flatMap((manifest) => validate(manifest) ?? [])
      assert(errors.length === 0, errors.join("\n"))
      // The API of Kubernetes does not have this kind.
      const unknown = manifests.filter((manifest) => validate(manifest) === undefined).map(({ kind }) => kind)
      assert(unknown.join() === "ServiceMonitor", `without a schema: ${unknown.join(", ")}`)
    }
  ],
  [
    "the command of the chart starts",
    async () => {
      const helm = await toolPath(tools.helm)
      const manifests = render(helm, "--set", "apiKeys.secretName=keys,redis.secretName=redis,replicaCount=2")
      await using site = makeSite()
      await startRedis(site)
      const settings = manifests.find(({ kind }) => kind === "ConfigMap") as Manifest & {
        readonly data: { readonly [name: string]: string }
      }
      site.write("/etc/a2c/config/server.yaml", settings.data["server.yaml"] ?? "")
      site.copy(join(site.root, "run/secrets/keys.json"), "/etc/a2c/keys/keys.json")
      site.copy(join(site.root, "run/secrets/redis.url"), "/etc/a2c/redis/redis.url")
      await site.startReady(podStart(manifests), isHealthy(site))
    }
  ],
  [
    "promtool accepts the configuration and the rules, and each failure raises its alert",
    async () => {
      const promtool = await toolPath(tools.promtool)
      run(promtool, ["check", "config", "--syntax-only", join(deploy, "prometheus/prometheus.yml")])
      run(promtool, ["check", "rules", "--lint=all", "--lint-fatal", join(deploy, "prometheus/rules.yml")])
      run(promtool, ["test", "rules", join(deploy, "prometheus/rules.test.yml")])
    }
  ],
  ["Prometheus scrapes the Server, and evaluates rules and dashboard", checkPrometheus]
]

const report = (line: string): void => void process.stdout.write(`${line}\n`)
const isStrict = process.env["A2C_TEST_STRICT"] === "1"
let failed = 0
let skipped = 0
for (const [name, check] of checks) {
  const begun = performance.now()
  try {
    await check()
    report(`passed: ${name} (${((performance.now() - begun) / 1000).toFixed(1)} s)`)
  } catch (error) {
    const isSkipped = error instanceof NotPossible && (error.isExcused || !isStrict)
    if (isSkipped) skipped += 1
    else failed += 1
    report(
      `${isSkipped ? "not possible" : "FAILED"}: ${name}: ${error instanceof Error ? error.message : String(error)}`
    )
  }
}
rmSync(image, { recursive: true })
report(`${checks.length - failed - skipped} passed, ${failed} failed, ${skipped} not possible`)
process.exitCode = failed === 0 ? 0 : 1
