import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Ajv, type ValidateFunction } from "ajv"
import { requireCommand, run } from "./programs.ts"

interface Schema {
  readonly [keyword: string]: unknown
}

/** Modules with the OpenAPI documents of Kubernetes; earlier ones take precedence. */
const sources = [
  {
    module: "k8s.io/client-go@v0.37.0",
    files: ["api__v1", "apis__apps__v1"].map((api) => `openapi/openapitest/testdata/${api}_openapi.json`)
  },
  { module: "k8s.io/cli-runtime@v0.37.0", files: ["artifacts/openapi/swagger.json"] }
]

const mapValues = (schemas: unknown): unknown =>
  Object.fromEntries(Object.entries(schemas as Schema).map(([name, schema]) => [name, toJsonSchema(schema)]))

/** A schema as JSON Schema that rejects unknown keys. */
const toJsonSchema = (schema: unknown): unknown => {
  if (typeof schema !== "object" || schema === null) return schema
  const { $ref, additionalProperties, allOf, format, items, properties, required, type } = schema as Schema
  if (format === "int-or-string") return { type: ["integer", "string"] }
  if (typeof $ref === "string") return { $ref: $ref.replace("#/components/schemas/", "#/definitions/") }
  return {
    ...(type !== undefined && { type }),
    ...(required !== undefined && { required }),
    ...(Array.isArray(allOf) && { allOf: allOf.map(toJsonSchema) }),
    ...(items !== undefined && { items: toJsonSchema(items) }),
    ...(additionalProperties !== undefined && { additionalProperties: toJsonSchema(additionalProperties) }),
    ...(properties !== undefined && { additionalProperties: false, properties: mapValues(properties) })
  }
}

/** The documents are older than this action of a hook, which Kubernetes has since 1.29. */
const laterProperties = {
  "io.k8s.api.core.v1.LifecycleHandler": {
    sleep: { type: "object", required: ["seconds"], properties: { seconds: { type: "integer" } } }
  }
}

const definitionsIn = (file: string): { readonly [name: string]: Schema } => {
  const document = JSON.parse(readFileSync(file, "utf8")) as {
    readonly definitions?: { readonly [name: string]: Schema }
    readonly components?: { readonly schemas: { readonly [name: string]: Schema } }
  }
  return document.components?.schemas ?? document.definitions ?? {}
}

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

/**
 * Makes a validator of manifests, which returns their errors, from the OpenAPI documents of Kubernetes that Go modules
 * have. A kind without a schema gives `undefined`.
 */
export const makeManifestValidator = (): ((manifest: Manifest) => ReadonlyArray<string> | undefined) => {
  requireCommand("go", "version")
  const definitions: { [name: string]: Schema } = {}
  for (const { files, module } of sources.toReversed()) {
    const { Dir: folder } = JSON.parse(run("go", ["mod", "download", "-json", module])) as { readonly Dir: string }
    for (const file of files) Object.assign(definitions, definitionsIn(join(folder, file)))
  }
  for (const [name, properties] of Object.entries(laterProperties)) {
    const definition = definitions[name] ?? {}
    definitions[name] = { ...definition, properties: { ...(definition["properties"] as Schema), ...properties } }
  }
  const ajv = new Ajv({ strict: false, allErrors: true })
  ajv.addSchema({ $id: "kubernetes", definitions: mapValues(definitions) })
  const nameOf = ({ apiVersion, kind: wanted }: Manifest): string | undefined =>
    Object.entries(definitions).find(([, definition]) =>
      ((definition["x-kubernetes-group-version-kind"] ?? []) as ReadonlyArray<Schema>).some(
        ({ group, kind, version }) =>
          kind === wanted && [group, version].filter((part) => part !== "").join("/") === apiVersion
      )
    )?.[0]
  return (manifest) => {
    const name = nameOf(manifest)
    if (name === undefined) return undefined
    const validate = ajv.getSchema(`kubernetes#/definitions/${name}`) as ValidateFunction
    validate(manifest)
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${manifest.kind}${instancePath} ${message} ${JSON.stringify(params)}`
    )
  }
}
