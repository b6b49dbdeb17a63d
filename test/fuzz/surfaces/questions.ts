import { Effect, Result } from "effect"
import { asObject, parseJson } from "../../../src/domain/json.ts"
import { inputModes, parseInputRequest, secretAnswers } from "../../../src/domain/model/InputRequest.ts"
import { findProblems, initialValue } from "../../../src/domain/schemas/formValue.ts"
import { formOfSchema } from "../../../src/domain/schemas/schemaForm.ts"
import { must, pure, type Surface } from "../Surface.ts"

const corpus = [
  {
    message: "Who?",
    requestedSchema: {
      type: "object",
      properties: {
        name: { type: "string", title: "Name", minLength: 1, format: "email" },
        pin: { type: "string", format: "password", writeOnly: true },
        age: { type: "integer", minimum: 0, default: 42 },
        agree: { type: "boolean", default: false },
        pet: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"], default: "a" },
        hero: { type: "string", oneOf: [{ const: "h", title: "H" }] },
        fish: { type: "array", minItems: 1, items: { anyOf: [{ const: "f", title: "F" }] }, default: ["f"] }
      },
      required: ["name"]
    }
  },
  { mode: "url", message: "Sign in", url: "https://example.com/a%20b?c=d#e", elicitationId: "1" }
].map((params) => Buffer.from(JSON.stringify(params)))

/** Parameters of `elicitation/create`, and the forms that they become. */
export const questionSurface: Surface = {
  name: "questions",
  about: "questions of MCP servers, and their forms",
  weight: 1,
  lanes: 1,
  corpus,
  words: [
    ['"mode"', '"url"', '"form"'],
    ['"properties"', '"$ref"', '"#"', '"allOf"'],
    ['"enum"', '"const"', '"default"'],
    ["null", "[]", "{}"]
  ].flat(),
  longest: 4096,
  open: () =>
    Effect.succeed(
      pure((input) => {
        const request = parseInputRequest(asObject(parseJson(input.toString("utf8"))))
        if (Result.isFailure(request)) {
          must(!request.failure.includes("\n"), "an error of several lines")
          return "refused"
        }
        const question = request.success
        must(inputModes.includes(question.mode), "an unknown mode")
        must(question.message.isWellFormed(), "a broken message")
        if (question.mode === "url") {
          must(/^https?:\/\//i.test(question.url) && !/\p{Cc}/u.test(question.url), "a dangerous address")
          return "accepted"
        }
        const form = formOfSchema(question.schema)
        const value = initialValue(form)
        findProblems(form, value)
        const secrets = secretAnswers(question, { action: "accept", content: asObject(value) })
        must(
          secrets.every((secret) => typeof secret === "string"),
          "a secret that is no text"
        )
        return "accepted"
      })
    )
}
