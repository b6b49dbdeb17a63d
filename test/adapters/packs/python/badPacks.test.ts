import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as NodeLoader from "../../../../src/adapters/packs/NodePackLoader.ts"
import { callOf } from "../packs.ts"
import { describePython, loadPython, pythonPack } from "./python.ts"

/** Packs that cannot be loaded, and the reason in one line. */
const unusable: ReadonlyArray<readonly [what: string, text: string, reason: RegExp]> = [
  ["has a syntax error", "def :\n", /^the import failed: SyntaxError: invalid syntax .*\(pack_tool\.py line 1\)$/],
  [
    "imports a missing package",
    "import no_such_package\n",
    /^the import failed: ModuleNotFoundError: No module named 'no_such_package' \(pack_tool\.py line 1\)$/
  ],
  [
    "imports a missing module of the host",
    "import app.llm.client\n",
    /^the import failed: ModuleNotFoundError: No module named 'app\.llm' \(pack_tool\.py line 1\)$/
  ],
  ["raises at import", "1 / 0\n", /^the import failed: ZeroDivisionError: division by zero \(pack_tool\.py line 1\)$/],
  [
    "exits at import",
    "import sys\nsys.exit(4)\n",
    /^the import ended the process \(exit code 4\) \(pack_tool\.py line 2\)$/
  ],
  [
    "has a class with another name",
    "class OtherTool:\n    pass\n",
    /^class 'PackTool' not found in pack_tool\.py, which has OtherTool$/
  ],
  ["has no class", "x = 1\n", /^class 'PackTool' not found in pack_tool\.py, which has no class$/],
  [
    "lacks methods",
    "class PackTool:\n    pass\n",
    /^PackTool lacks get_route_config\(\), list_tools\(\), call_tool\(\)$/
  ],
  [
    "lacks an abstract method",
    "from app.base_tool import BaseMCPTool\nclass PackTool(BaseMCPTool):\n    pass\n",
    /^the constructor of PackTool failed: TypeError: Can't instantiate abstract class PackTool/
  ],
  [
    "raises in its constructor",
    pythonPack({ more: "raise RuntimeError('no key')" }),
    /^the constructor of PackTool failed: RuntimeError: no key \(pack_tool\.py line \d+\)$/
  ],
  [
    "raises in get_route_config",
    pythonPack({ route: "{}[1]" }),
    /^get_route_config\(\) failed: KeyError: 1 \(pack_tool\.py line \d+\)$/
  ],
  [
    "names no model as params_class",
    pythonPack({ route: "{'endpoint': '/a', 'params_class': 7}" }),
    /^params_class of the route \/a must be a model of Pydantic, not 7$/
  ],
  [
    "has parameters without a JSON Schema",
    pythonPack({
      params: "text: type(os)\n    model_config = {'arbitrary_types_allowed': True}".replace("\n    ", "\n")
    }),
    /^params_class of the route \/tools\/pack has no JSON Schema: Cannot generate a JsonSchema/
  ],
  [
    "cannot list its tools",
    pythonPack().replace("return [Tool(", "raise OSError('offline')\n        return [Tool("),
    /^list_tools\(\) failed: OSError: offline \(pack_tool\.py line \d+\)$/
  ],
  [
    "lists something else than tools",
    pythonPack().replace("return [Tool(", "return 7\n        return [Tool("),
    /^list_tools\(\) failed: TypeError: 'int' object is not iterable/
  ],
  [
    "has neither routes nor tools",
    pythonPack({ route: "7" }).replace("return [Tool(", "return []\n        return [Tool("),
    /^it has no tools: get_route_config\(\) must return a route/
  ]
]

/** What a tool does wrong in a call, and the error of the call. */
const failing: ReadonlyArray<readonly [what: string, call: string, reason: string, message: RegExp]> = [
  ["returns no list", "return 'text'", "failed", /^call_tool\(\) must return a list of content, not str$/],
  ["returns None", "pass", "failed", /^call_tool\(\) must return a list of content, not NoneType$/],
  [
    "returns a text with lone surrogates",
    "return [TextContent(type='text', text='\\ud800')]",
    "failed",
    /surrogates not allowed/
  ],
  [
    "returns what is not JSON",
    "return [{'type': 'text', 'text': object()}]",
    "failed",
    /^the result of pack is not JSON: /
  ],
  ["returns a number without JSON", "return [{'n': float('nan')}]", "failed", /^the result of pack is not JSON: /],
  ["raises without a message", "raise KeyError()", "failed", /^KeyError$/],
  ["raises a message with lone surrogates", "raise OSError('a\\udc80')", "failed", /^a\?$/],
  [
    "does not know the tool",
    "raise McpError(ErrorData(code=METHOD_NOT_FOUND, message='no such tool'))",
    "unknown_tool",
    /^no such tool$/
  ],
  ["kills itself", "os.kill(os.getpid(), 9)", "crashed", /^its process was killed by SIGKILL$/],
  ["ends without a clean-up", "os._exit(9)", "crashed", /^its process exited with code 9$/]
]

describePython("Python pack", () => {
  layer(NodeLoader.layer, { excludeTestServices: true })((it) => {
    for (const [what, text, expected] of unusable) {
      it.effect(`is unusable when it ${what}`, () =>
        Effect.gen(function* () {
          const { message, reason } = yield* Effect.flip(loadPython(text))
          assert.strictEqual(reason, "unusable")
          assert.match(message, expected)
          assert.notInclude(message, "\n")
        })
      )
    }

    for (const [what, code, expected, line] of failing) {
      for (const def of what.startsWith("returns a text") ? ["async def", "def"] : ["async def"]) {
        it.effect(`fails a call when it ${what} (${def})`, () =>
          Effect.gen(function* () {
            const { call } = yield* loadPython(pythonPack({ call: code, def }))
            const { message, reason } = yield* Effect.flip(call(callOf("pack", { text: "a" })))
            assert.strictEqual(reason, expected)
            assert.match(message, line)
          })
        )
      }
    }

    it.effect("is not disturbed by a child process that it forks", () =>
      Effect.gen(function* () {
        const { call } = yield* loadPython(
          pythonPack({
            call: "child = os.fork()\nif child: os.waitpid(child, 0)\nreturn [TextContent(type='text', text=str(child > 0))]"
          })
        )
        for (let count = 0; count < 3; count++) {
          assert.deepStrictEqual(yield* call(callOf("pack", { text: "a" })), {
            content: [{ type: "text", text: "True" }]
          })
        }
      })
    )

    it.effect("learns who runs a call for what", () =>
      Effect.gen(function* () {
        const { call } = yield* loadPython(
          pythonPack({
            call: "context = self.get_execution_context()\nreturn [TextContent(type='text', text=repr(context and (context.task_id, context.session_id, context.timeout)))]"
          })
        )
        const text = (value: string) => ({ content: [{ type: "text", text: value }] })
        const execution = { task_id: "t1", user_id: "u", account_id: "a", platform: "p", action: "x", session_id: "s" }
        const given = callOf("pack", { text: "a" })
        assert.deepStrictEqual(yield* call({ ...given, execution }), text("('t1', 's', 120)"))
        assert.deepStrictEqual(yield* call(given), text("None"))
      })
    )

    it.effect("survives a flood of its output", () =>
      Effect.gen(function* () {
        const { call } = yield* loadPython(
          pythonPack({
            call: "for i in range(20000): print('x' * 100, file=sys.stderr)\nreturn [TextContent(type='text', text='done')]"
          })
        )
        assert.deepInclude(yield* call(callOf("pack", { text: "a" })), {
          content: [{ type: "text", text: "done" }]
        })
      })
    )
  })
})
