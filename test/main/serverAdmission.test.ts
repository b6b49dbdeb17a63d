import { execFileSync } from "node:child_process"
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { get } from "node:http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SignJWT } from "jose"
import { kill } from "../processes.ts"
import { cli, node, outcomeOf, program, startServer } from "./processes.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

type Variables = { readonly [name: string]: string }

const start = (variables: Variables, ...args: ReadonlyArray<string>) => node([cli, ...args], variables)

/** Runs a command until it ends. */
const run = (variables: Variables, ...args: ReadonlyArray<string>) =>
  Effect.flatMap(start(variables, ...args), outcomeOf)

const serve = (variables: Variables, ...args: ReadonlyArray<string>) => startServer(args, variables)

/** Expects that a Server does not start, for this reason. */
const assertRejected = Effect.fnUntraced(function* (
  reason: RegExp | string,
  variables: Variables,
  ...args: ReadonlyArray<string>
) {
  const { code, stderr, stdout } = yield* run(variables, "server", "--port", "0", ...args)
  assert.deepStrictEqual([code, stdout], [1, ""])
  if (typeof reason === "string") assert.include(stderr, reason)
  else assert.match(stderr, reason)
})

/** Lists the members of the office 'team'. */
const members = (url: string, variables: Variables = {}, ...args: ReadonlyArray<string>) =>
  run(variables, "agent", "--server", url, "--office", "team", ...args, "members")

/** Makes an API key with the command. */
const makeKey = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const { code, stderr, stdout } = yield* run({}, "server", "key", ...args)
  assert.strictEqual(code, 0)
  return { key: stdout.trim(), entry: JSON.parse(stderr.split("\n")[1] ?? "") as object }
})

/** A certificate or a private key, as a file. */
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url))

const writeKeys = (file: string, ...keys: ReadonlyArray<object>) =>
  writeFileSync(file, `// API keys.\n${JSON.stringify({ keys }, null, 2)}`)

describe("a2c server key", () => {
  it.live("reports an invalid key in terms of its flags", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* run({}, "server", "key", "--expires", "soon")
      const message = "a2c: expires: Expected a moment like 2030-01-31 or 2030-01-31T12:00:00Z\n"
      assert.deepStrictEqual([code, stdout, stderr], [1, "", message])
    })
  )
})

describe("a2c server", () => {
  it.live("requires authentication or a flag on public addresses", () =>
    Effect.gen(function* () {
      const reason =
        /^a2c: 0\.0\.0\.0 is reachable from other machines, and the Server has no authentication: .*--insecure/
      yield* assertRejected(reason, {}, "--host", "0.0.0.0")
      // Another spelling of loopback, which the Server does not recognise.
      const { process } = yield* serve({ A2C_INSECURE: "true" }, "--host", "127.1")
      yield* process.prints("no authentication: every client has all rights", "stderr")
    })
  )

  it.live("accepts several origins in one variable, which flags override", () =>
    Effect.gen(function* () {
      const variables = { A2C_ALLOW_ORIGIN: "https://one.example, http://two.example:8080" }
      const statusOf = (url: string, origin: string) =>
        Effect.callback<number | undefined>((resume) => {
          get(`${url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`, { headers: { origin } }, (response) => {
            response.resume()
            resume(Effect.succeed(response.statusCode))
          })
        })
      const statuses = (url: string) =>
        Effect.forEach(["https://one.example", "http://two.example:8080", "https://three.example"], (origin) =>
          statusOf(url, origin)
        )
      const byVariable = yield* serve(variables)
      assert.deepStrictEqual(yield* statuses(byVariable.url), [200, 200, 403])
      const byFlag = yield* serve(variables, "--allow-origin", "https://three.example")
      assert.deepStrictEqual(yield* statuses(byFlag.url), [403, 403, 200])
    })
  )

  it.live("admits members with an API key while the file contains it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const keys = join(folder, "keys.json")
      const agent = yield* makeKey("--subject", "boss", "--right", "agent")
      const old = yield* makeKey("--expires", "2020-01-01")
      const desk = yield* makeKey("--subject", "pc", "--right", "computer", "--office", "team", "--name", "desk")
      writeKeys(keys, agent.entry, old.entry, desk.entry)
      const { process, url } = yield* serve({}, "--api-keys", keys)

      for (const [variables, message] of [
        [{}, /requires credentials: .* \(Server at http:\S+\); give --token-file FILE, or set A2C_TOKEN\n$/],
        [{ A2C_TOKEN: "wrong-s3cret" }, /API key is not valid \(Server at http:\S+, token from A2C_TOKEN\)\n$/],
        [{ A2C_TOKEN: old.key }, /API key has expired/],
        [{ A2C_TOKEN: desk.key }, /'pc' may not be an Agent/]
      ] as const) {
        const rejected = yield* members(url, variables)
        assert.strictEqual(rejected.code, 1)
        assert.match(rejected.stderr, message)
      }

      const deskKey = join(folder, "desk.key")
      writeFileSync(deskKey, `${desk.key}\n`)
      const config = join(folder, "mcp.json")
      writeFileSync(config, '{"mcpServers": {}}')
      const place = ["--server", url, "--office", "team", "--name", "desk", "--config", config]
      const computer = yield* start({}, "computer", ...place, "--token-file", deskKey)
      yield* computer.prints("joined office team as desk")
      const listed = yield* members(url, { A2C_TOKEN: agent.key })
      assert.strictEqual(listed.code, 0)
      assert.match(listed.stdout, /computer +desk/)

      writeFileSync(keys, '{"keys": [')
      yield* process.prints("API keys not reloaded", "stderr")
      assert.match((yield* members(url, { A2C_TOKEN: agent.key })).stdout, /computer +desk/)

      writeKeys(keys, agent.entry)
      yield* process.prints("credentials_revoked", "stderr")
      assert.strictEqual(yield* computer.ended, 1)
      assert.match(computer.stderr(), /The API key is not valid \(Server at http:\S+, token from \S+desk\.key\)/)
      assert.notMatch((yield* members(url, { A2C_TOKEN: agent.key })).stdout, /desk/)
      assert.notMatch(process.stderr(), new RegExp(`s3cret|${[agent, old, desk].map(({ key }) => key).join("|")}`))
    })
  )

  it.live("reports an invalid key file and does not start", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "keys.json")
      writeKeys(file, { subject: "a", hash: "k", rights: [], offices: [], names: [] })
      const reason = `a2c: ${file}:6:7: error: keys[0].hash: Expected 'sha256:'`
      yield* assertRejected(reason, {}, "--api-keys", file)
    })
  )

  it.live("accepts keys from the environment", () =>
    Effect.gen(function* () {
      const key = "0123456789abcdef0123456789abcdef"
      const { url } = yield* serve({ A2C_API_KEYS: `me=${key}` })
      assert.strictEqual((yield* members(url)).code, 1)
      assert.strictEqual((yield* members(url, { A2C_TOKEN: key })).code, 0)
      const reason = /^a2c: A2C_API_KEYS cannot be used: (?![^]*s3cret).* 32 characters/
      yield* assertRejected(reason, { A2C_API_KEYS: "me=s3cret" })
    })
  )

  it.live("accepts tokens, and a member with an expired token waits for a new one in its file", () =>
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
      yield* computer.prints("The token has expired", "stderr")
      writeFileSync(file, yield* sign(3600))
      yield* computer.prints("joined office team as desk")
    })
  )

  it.live("serves TLS with the certificate of its files, and reloads them", () =>
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
        /^a2c: Cannot reach https:\/\/[^ ]+: its certificate is not accepted: it is self-signed/
      )
      put("second")
      yield* process.prints("certificate reloaded", "stderr")
      assert.strictEqual((yield* members(url, trusting("second"))).code, 0)
    })
  )

  const keysText = '{ "keys": [] }'
  it.live.each([
    ["a certificate and its key", '--tls-cert <(cat "$1") --tls-key <(cat "$2")'],
    ["a certificate", '--tls-cert <(cat "$1") --tls-key "$2"'],
    ["a key that comes late", '--tls-cert "$1" --tls-key <(sleep 1; cat "$2")'],
    ["API keys", `--api-keys <(echo '${keysText}')`]
  ])("keeps %s from a pipe when files are read again", ([, flags]) =>
    Effect.gen(function* () {
      const command = `exec "$0" ${cli} server --port 0 ${flags}`
      const files = [fixture("first.cert"), fixture("first.key")]
      const server = yield* program("bash", ["-c", command, process.execPath, ...files])
      yield* server.prints("listening on ")
      // Follows the check after the start.
      kill(server.pid, "SIGHUP")
      yield* server.prints("reloaded", "stderr")
      assert.notInclude(server.stderr(), "ERROR")
    })
  )

  for (const part of ["cert", "key"] as const) {
    it.live(
      `keeps its certificate, reloads a later one and ends when the ${part} becomes a pipe that nothing writes to`,
      () =>
        Effect.gen(function* () {
          const folder = yield* temporaryFolder
          const files = { cert: join(folder, "cert"), key: join(folder, "key") }
          const install = (name: string) => {
            rmSync(files[part], { force: true })
            for (const one of ["cert", "key"] as const) copyFileSync(fixture(`${name}.${one}`), files[one])
          }
          install("first")
          const { process } = yield* serve({}, "--tls-cert", files.cert, "--tls-key", files.key)
          rmSync(files[part])
          execFileSync("mkfifo", [files[part]])
          yield* process.prints(`${files[part]}: became a pipe`, "stderr")
          install("second")
          yield* process.prints("certificate reloaded", "stderr")
          yield* process.signal("SIGTERM")
          assert.strictEqual(yield* process.ended, 0)
        })
    )
  }

  for (const [args, message] of [
    ...["--jwt-issuer", "--jwt-audience", "--jwt-name", "--jwt-office"].flatMap((name) => [
      [[name, "team"], /JWT settings need a key/] as const,
      [[name, ""], /a text that is not empty/] as const
    ]),
    [["--jwt-right", "agent"], /JWT settings need a key/],
    [["--host", ""], /an IP address or a host name/],
    [["--host", "[::1"], /an IP address or a host name/],
    [["--host", "[]"], /an IP address or a host name/],
    [["--redis", "redis://h/-1"], /Invalid Redis URL/]
  ] as const) {
    it.live(`rejects ${args.join(" ")}${args[1] === "" ? "an empty text" : ""} at the start`, () =>
      assertRejected(message, {}, ...args)
    )
  }

  it.live("listens on an IPv6 address in brackets", () =>
    Effect.gen(function* () {
      const { process } = yield* serve({}, "--host", "[::1]")
      yield* process.signal("SIGTERM")
      assert.strictEqual(yield* process.ended, 0)
    })
  )

  it.live("reports an invalid certificate and does not start", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "cert.pem")
      writeFileSync(file, "none")
      for (const [args, message] of [
        [["--tls-cert", file], /--tls-cert and --tls-key together/],
        [["--tls-cert", file, "--tls-key", join(folder, "none")], /none: file not found/],
        [["--tls-cert", file, "--tls-key", file], /Invalid certificate: not a PEM file/],
        [["--tls-cert", fixture("first.cert"), "--tls-key", file], /Invalid certificate: the key is not PEM/],
        [["--tls-cert", fixture("first.cert"), "--tls-key", file], /cert\.pem\)/],
        [["--tls-cert", fixture("first.cert"), "--tls-key", fixture("second.key")], /match.*first\.cert.*second\.key/],
        [["--tls-cert", "/dev/null", "--tls-key", file], /the certificate is empty \(--tls-cert \/dev\/null,/],
        [["--tls-cert", "/dev/zero", "--tls-key", file], /\/dev\/zero: is larger/]
      ] as const) {
        yield* assertRejected(message, {}, ...args)
      }
    })
  )
})

describe("a2c member", () => {
  it.live("names the file without a token", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const empty = join(folder, "empty")
      writeFileSync(empty, "\n")
      const nowhere = "http://127.0.0.1:9"
      for (const [file, message] of [
        [join(folder, "none"), /none does not exist/],
        [folder, /is a folder/],
        [empty, /is empty/]
      ] as const) {
        const rejected = yield* members(nowhere, {}, "--token-file", file)
        assert.strictEqual(rejected.code, 1)
        assert.match(rejected.stderr, message)
      }
    })
  )

  it.live("takes the token file from the command line of a host", () =>
    Effect.gen(function* () {
      const place = ["--office", "team", "--token-file", "me.key"]
      const { stdout } = yield* run({}, "agent", ...place, "mcp", "config", "claude")
      assert.include(stdout, `"A2C_TOKEN_FILE": ${JSON.stringify(join(process.cwd(), "me.key"))}`)
    })
  )
})
