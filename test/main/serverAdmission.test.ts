import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { get } from "node:http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { SignJWT } from "jose"
import { cli, node, temporaryFolder } from "./processes.ts"

/** Two minutes: some of these tests start ten processes on a machine that is busy with others. */
const testTimeout = 120_000

const live = (title: string, body: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(title, () => Effect.scoped(body), testTimeout)

type Variables = { readonly [name: string]: string }

const start = (variables: Variables, ...args: ReadonlyArray<string>) => node([cli, ...args], variables)

/** Runs a command to its end. */
const run = Effect.fnUntraced(function* (variables: Variables, ...args: ReadonlyArray<string>) {
  const process = yield* start(variables, ...args)
  return { code: yield* process.ended, stdout: process.stdout(), stderr: process.stderr() }
})

const serve = Effect.fnUntraced(function* (variables: Variables, ...args: ReadonlyArray<string>) {
  const process = yield* start(variables, "server", "--port", "0", ...args)
  const url = (yield* process.says("listening on ")).replace("listening on ", "")
  return { process, url }
})

/** Lists the members of the office 'team'. */
const members = (url: string, variables: Variables = {}, ...args: ReadonlyArray<string>) =>
  run(variables, "agent", "--server", url, "--office", "team", ...args, "members")

interface KeyLine {
  readonly key: string
  readonly entry: object
}

/** Makes a key by the command for it. */
const makeKey = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const { code, stderr, stdout } = yield* run({}, "server", "key", ...args)
  assert.strictEqual(code, 0)
  const made: KeyLine = { key: stdout.trim(), entry: JSON.parse(stderr.split("\n")[1] ?? "") as object }
  return made
})

/** A certificate or a key, as a file. */
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url))

const writeKeys = (file: string, ...keys: ReadonlyArray<object>) =>
  writeFileSync(file, `// Who may enter.\n${JSON.stringify({ keys }, null, 2)}`)

describe("a2c server key", () => {
  live(
    "says what is wrong with a key in the words of its flags",
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* run({}, "server", "key", "--expires", "soon")
      const said = "a2c: expires: Expected a moment like 2030-01-31 or 2030-01-31T12:00:00Z\n"
      assert.deepStrictEqual([code, stdout, stderr], [1, "", said])
    })
  )
})

describe("a2c server", () => {
  live(
    "does not listen where others reach it without asking who they are, unless told to",
    Effect.gen(function* () {
      const rejected = yield* run({}, "server", "--host", "0.0.0.0", "--port", "0")
      assert.strictEqual(rejected.code, 1)
      assert.match(rejected.stderr, /^a2c: Whoever reaches 0\.0\.0\.0 could enter every office: .*--insecure/)
      assert.strictEqual(rejected.stdout, "")
      // Another spelling of loopback, which the Server cannot know for what it is.
      const { process } = yield* serve({ A2C_INSECURE: "true" }, "--host", "127.1")
      yield* process.says("no authentication: every client has all rights", "stderr")
    })
  )

  live(
    "takes several origins from one variable, and flags instead of it",
    Effect.gen(function* () {
      const variables = { A2C_ALLOW_ORIGIN: "https://one.example, http://two.example:8080" }
      const statusOf = (url: string, origin: string) =>
        Effect.callback<number | undefined>((resume) => {
          const asked = get(`${url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`, { headers: { origin } })
          asked.once("response", (response) => {
            response.resume()
            resume(Effect.succeed(response.statusCode))
          })
        })
      const statuses = (url: string) =>
        Effect.forEach(
          ["https://one.example", "http://two.example:8080", "https://three.example"],
          (origin) => statusOf(url, origin)
        )
      const byVariable = yield* serve(variables)
      assert.deepStrictEqual(yield* statuses(byVariable.url), [200, 200, 403])
      const byFlag = yield* serve(variables, "--allow-origin", "https://three.example")
      assert.deepStrictEqual(yield* statuses(byFlag.url), [403, 403, 200])
    })
  )

  live(
    "lets in who has a key, while it stands in the file",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const keys = join(folder, "keys.json")
      const agent = yield* makeKey("--subject", "boss", "--right", "agent")
      const old = yield* makeKey("--expires", "2020-01-01")
      const desk = yield* makeKey(
        "--subject",
        "pc",
        "--right",
        "computer",
        "--office",
        "team",
        "--name",
        "desk"
      )
      writeKeys(keys, agent.entry, old.entry, desk.entry)
      const { process, url } = yield* serve({}, "--api-keys", keys)

      for (const [variables, said] of [
        [{}, /requires credentials: .*; give --token-file FILE, or set A2C_TOKEN\n$/],
        [{ A2C_TOKEN: "wrong-s3cret" }, /API key is not valid/],
        [{ A2C_TOKEN: old.key }, /API key has expired/],
        [{ A2C_TOKEN: desk.key }, /'pc' may not be an Agent/]
      ] as const) {
        const rejected = yield* members(url, variables)
        assert.strictEqual(rejected.code, 1)
        assert.match(rejected.stderr, said)
      }

      const deskKey = join(folder, "desk.key")
      writeFileSync(deskKey, `${desk.key}\n`)
      const config = join(folder, "mcp.json")
      writeFileSync(config, '{"mcpServers": {}}')
      const place = ["--server", url, "--office", "team", "--name", "desk", "--config", config]
      const computer = yield* start({}, "computer", ...place, "--token-file", deskKey)
      yield* computer.says("joined office team as desk")
      const listed = yield* members(url, { A2C_TOKEN: agent.key })
      assert.strictEqual(listed.code, 0)
      assert.match(listed.stdout, /computer +desk/)

      writeFileSync(keys, '{"keys": [')
      yield* process.says("API keys not changed: their file has errors", "stderr")
      assert.match((yield* members(url, { A2C_TOKEN: agent.key })).stdout, /computer +desk/)

      writeKeys(keys, agent.entry)
      yield* process.says("credentials_revoked", "stderr")
      assert.strictEqual(yield* computer.ended, 1)
      assert.match(computer.stderr(), /The API key is not valid/)
      assert.notMatch((yield* members(url, { A2C_TOKEN: agent.key })).stdout, /desk/)
      assert.notMatch(
        process.stderr(),
        new RegExp(`s3cret|${[agent, old, desk].map(({ key }) => key).join("|")}`)
      )
    })
  )

  live(
    "says where a file of keys is wrong, and does not start",
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "keys.json")
      writeKeys(file, { subject: "a", hash: "k", rights: [], offices: [], names: [] })
      const rejected = yield* run({}, "server", "--port", "0", "--api-keys", file)
      assert.strictEqual(rejected.code, 1)
      assert.include(rejected.stderr, `a2c: ${file}:6:7: error: keys[0].hash: Expected 'sha256:'`)
    })
  )

  live(
    "takes keys of the environment",
    Effect.gen(function* () {
      const key = "0123456789abcdef0123456789abcdef"
      const { url } = yield* serve({ A2C_API_KEYS: `me=${key}` })
      assert.strictEqual((yield* members(url)).code, 1)
      assert.strictEqual((yield* members(url, { A2C_TOKEN: key })).code, 0)
      const short = yield* run({ A2C_API_KEYS: "me=s3cret" }, "server", "--port", "0")
      assert.match(short.stderr, /^a2c: A2C_API_KEYS cannot be used: .* 32 characters/)
      assert.notInclude(short.stderr, "s3cret")
    })
  )

  live(
    "takes tokens; a member whose token has expired waits for a new one in its file",
    Effect.gen(function* () {
      const secret = "a secret of thirty-two characters or more"
      const sign = (seconds: number) =>
        Effect.promise(() =>
          new SignJWT({ a2c: { rights: ["computer"], offices: ["team"], names: ["*"] } })
            .setProtectedHeader({ alg: "HS256" })
            .setSubject("pc")
            .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
            .sign(new TextEncoder().encode(secret))
        )
      const { url } = yield* serve({ A2C_JWT_SECRET: secret })
      const file = join(yield* temporaryFolder, "token")
      writeFileSync(file, yield* sign(-3600))
      const config = `${file}.json`
      writeFileSync(config, '{"mcpServers": {}}')
      const place = ["--server", url, "--office", "team", "--name", "desk", "--config", config]
      const computer = yield* start({ A2C_TOKEN_FILE: file }, "computer", ...place)
      yield* computer.says("The token has expired", "stderr")
      writeFileSync(file, yield* sign(3600))
      yield* computer.says("joined office team as desk")
    })
  )

  live(
    "speaks TLS with the certificate of its files, the new one when they change",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")]
      const put = (name: string) => {
        writeFileSync(cert, readFileSync(fixture(`${name}.cert`)))
        writeFileSync(key, readFileSync(fixture(`${name}.key`)))
      }
      put("first")
      const { process, url } = yield* serve({}, "--tls-cert", cert, "--tls-key", key)
      assert.match(url, /^https:/)
      const trusting = (name: string) => ({ NODE_EXTRA_CA_CERTS: fixture(`${name}.cert`) })
      assert.strictEqual((yield* members(url, trusting("first"))).code, 0)
      assert.match(
        (yield* members(url)).stderr,
        /^a2c: Cannot reach https:\/\/[^ ]+: self-signed certificate/
      )
      put("second")
      yield* process.says("certificate renewed", "stderr")
      assert.strictEqual((yield* members(url, trusting("second"))).code, 0)
    })
  )

  live(
    "says what is wrong with its certificate, and does not start",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "cert.pem")
      writeFileSync(file, "none")
      for (const [args, said] of [
        [["--tls-cert", file], /--tls-cert and --tls-key together/],
        [["--tls-cert", file, "--tls-key", join(folder, "none")], /none: there is no such file/],
        [["--tls-cert", file, "--tls-key", file], /The certificate cannot be used: it is no PEM/],
        [["--tls-cert", fixture("first.cert"), "--tls-key", file], /cannot be used: the key is no PEM/]
      ] as const) {
        const rejected = yield* run({}, "server", "--port", "0", ...args)
        assert.strictEqual(rejected.code, 1)
        assert.match(rejected.stderr, said)
      }
    })
  )
})

describe("a member", () => {
  live(
    "says which file has no token",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const empty = join(folder, "empty")
      writeFileSync(empty, "\n")
      const nowhere = "http://127.0.0.1:9"
      for (const [file, said] of [
        [join(folder, "none"), /none does not exist/],
        [folder, /is a folder/],
        [empty, /is empty/]
      ] as const) {
        const rejected = yield* members(nowhere, {}, "--token-file", file)
        assert.strictEqual(rejected.code, 1)
        assert.match(rejected.stderr, said)
      }
      rmSync(empty)
    })
  )

  live(
    "that a host starts is told where its token is",
    Effect.gen(function* () {
      const place = ["--office", "team", "--token-file", "me.key"]
      const { stdout } = yield* run({}, "agent", ...place, "mcp", "config", "claude")
      assert.include(stdout, `"A2C_TOKEN_FILE": ${JSON.stringify(join(process.cwd(), "me.key"))}`)
    })
  )
})
