import { generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { decodeJwt, decodeProtectedHeader } from "jose"
import type { TokenCommandOptions } from "../../../../src/main/cli/server/flags.ts"
import { fileWriter, type FlagRow, type FlagRows, testFlags } from "../flagRows.ts"
import { a2cInProcess, messageOf, type Outcome } from "../inProcess.ts"
import { folderOfTests } from "../../../folderOfTests.ts"

const fileWith = fileWriter(folderOfTests())
const secret = "a secret of thirty-two characters or more"
const place = ["--office", "team", "--name", "page"]

const token = (
  args: ReadonlyArray<string>,
  env: { readonly [name: string]: string } = { A2C_JWT_SECRET: secret }
): ReturnType<typeof a2cInProcess> =>
  Effect.provideService(
    a2cInProcess("server", "token", ...args),
    ConfigProvider.ConfigProvider,
    ConfigProvider.fromEnv({ env })
  )

const claimsOf = ({ stdout }: Outcome) => decodeJwt<{ readonly a2c: unknown }>(stdout.trim())

/** A row of a flag that changes the claims. */
const claim = (
  args: ReadonlyArray<string>,
  outcomes: FlagRow[1],
  select: (claims: ReturnType<typeof claimsOf>) => unknown
): FlagRow => [
  args,
  outcomes,
  (given) => Effect.map(token([...place, ...given]), (outcome) => select(claimsOf(outcome)))
]

const grants = (change: object) => ({ rights: ["computer"], offices: ["team"], names: ["page"], ...change })

/** A row of a flag that names the key. */
const keyRow = (args: ReadonlyArray<string>, alg: string): FlagRow => [
  args,
  [undefined, alg],
  (given) =>
    Effect.map(token([...place, ...given], {}), ({ failure, stdout }) =>
      failure === undefined ? decodeProtectedHeader(stdout.trim()).alg : undefined
    )
]

const required = (args: ReadonlyArray<string>, beside: ReadonlyArray<string>): FlagRow => [
  args,
  [true, false],
  (given) => Effect.map(token([...beside, ...given]), ({ failure }) => failure !== undefined)
]

const privateKey = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" })
const privateKeyFile = () => fileWith("private.pem", privateKey.toString())

const rows: FlagRows<TokenCommandOptions> = {
  office: required(["--office", "team"], ["--name", "page"]),
  name: required(["--name", "page"], ["--office", "team"]),
  role: claim(["--role", "agent"], [grants({}), grants({ rights: ["agent"] })], ({ a2c }) => a2c),
  ttl: claim(["--ttl", "90s"], [600, 90], ({ exp = 0, iat = 0 }) => exp - iat),
  subject: claim(["--subject", "ann"], ["page", "ann"], ({ sub }) => sub),
  jwtIssuer: claim(["--jwt-issuer", "me"], [undefined, "me"], ({ iss }) => iss),
  jwtAudience: claim(["--jwt-audience", "a2c"], [undefined, "a2c"], ({ aud }) => aud),
  jwtSecretFile: keyRow(["--jwt-secret-file", fileWith("secret", `${secret}\n`)], "HS256"),
  jwtPrivateKey: keyRow(["--jwt-private-key", privateKeyFile()], "EdDSA"),
  json: [
    ["--json"],
    [false, true],
    (given) => Effect.map(token([...place, ...given]), ({ stdout }) => stdout.startsWith("{"))
  ]
}

describe("a flag of a2c server token", () => {
  testFlags(rows)
})

describe("a2c server token", () => {
  it.live("prints the token alone to stdout, and its member and expiry to stderr", () =>
    Effect.gen(function* () {
      const outcome = yield* token(place)
      const { exp = 0 } = claimsOf(outcome)
      const expires = new Date(exp * 1000).toISOString()
      assert.match(outcome.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
      assert.strictEqual(
        outcome.stderr.replaceAll(/\s+/g, " "),
        `Token for computer 'page' in office 'team', valid until ${expires}: `
      )
    })
  )

  it.live("prints the token, its member and expiry as JSON", () =>
    Effect.gen(function* () {
      const { stderr, stdout } = yield* token([...place, "--json"])
      const { expires, token: printed, ...member } = JSON.parse(stdout) as { [field: string]: string }
      assert.deepStrictEqual([member, stderr], [{ office: "team", role: "computer", name: "page" }, ""])
      assert.strictEqual(new Date((decodeJwt(printed ?? "").exp ?? 0) * 1000).toISOString(), expires)
    })
  )

  const oneKey =
    "The key of the Server signs its tokens: give one of --jwt-secret-file (or A2C_JWT_SECRET) and --jwt-private-key"
  const failures: ReadonlyArray<readonly [string, args: ReadonlyArray<string>, env: {}, message: string]> = [
    ["no key", place, {}, oneKey],
    ["two keys", [...place, "--jwt-private-key", privateKeyFile()], { A2C_JWT_SECRET: secret }, oneKey],
    ["a short secret", place, { A2C_JWT_SECRET: "s3cret" }, "The token secret must have at least 32 bytes"],
    ["a missing file", [...place, "--jwt-private-key", "/none"], {}, "the private key /none does not exist"],
    [
      "a pattern",
      ["--office", "te*", "--name", "page"],
      { A2C_JWT_SECRET: secret },
      "office must not be empty, nor contain '*', which stands for any characters in a token"
    ],
    ["two days", [...place, "--ttl", "2d"], { A2C_JWT_SECRET: secret }, "ttl must be from 1 second to 1 day"]
  ]
  it.live.each(failures)("fails with %s", ([, args, env, message]) =>
    Effect.gen(function* () {
      const { failure, stdout } = yield* token(args, env)
      assert.deepStrictEqual([messageOf(failure), stdout], [message, ""])
    })
  )
})
