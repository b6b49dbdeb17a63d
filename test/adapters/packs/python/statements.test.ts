import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const tests = join(import.meta.dirname, "../../..")

const document = "adapters/packs/python/document.test.ts"
const served = "adapters/packs/python/served.test.ts"
const bad = "adapters/packs/python/badPacks.test.ts"
const contract = "adapters/packs/python/contract.test.ts"
const installer = "adapters/packs/install/PythonInstaller.test.ts"
const command = "main/tools.test.ts"
const names = "domain/packs/packNames.test.ts"
const packages = "domain/packs/pythonPackages.test.ts"

/** The statements of the tool specification, and where each is tested: a file, and a text in the title of its test. */
const statements: ReadonlyArray<readonly [statement: string, file: string, title: string]> = [
  // Layout of folders
  ["packs are in app/src, or in the folder of TOOLS_DIR", command, "searches the documented folders"],
  ["packs are in AutoUp-MCP-Extension as well", document, "finds the packs of the folder of extensions"],
  ["a pack is a package with __init__.py", document, '"no_package"'],
  ["a pack has a file {name}_tool.py", document, '"no_tool"'],
  ["config.yaml is optional", document, "finds the packs of the four examples of names"],
  ["names of folders are in snake case", names, "which makes no class"],
  ["the class is named after the folder in camel case", document, "finds the packs of the four examples of names"],
  ["another class name is not found", document, '"wrong_class"'],
  // __init__.py
  ["__init__.py exports the class", served, "lists them"],
  // The tool file
  ["a tool extends BaseMCPTool", served, "lists them"],
  ["what the constructor raises is reported", bad, '"raises in its constructor"'],
  ["all abstract methods are needed", document, '"no_method"'],
  ["get_route_config returns a list of routes", document, "unless the route names another"],
  ["get_route_config may return one route", document, "finds the packs of the four examples of names"],
  ["endpoint is required and starts with a slash", document, '"no_slash"'],
  ["params_class is a model of Pydantic", document, '"no_model"'],
  ["use_form is false by default", document, "takes a form where the route says so, and JSON elsewhere"],
  ["tool_name is the folder's name by default", document, "calls the tool named like its folder"],
  ["one pack has several endpoints", document, "unless the route names another"],
  ["list_tools lists the tools with their schemas", document, "lists the schema, the constraints and the descriptions"],
  ["call_tool returns texts, images and embedded resources", served, "replies with every kind of content"],
  ["an unknown tool is a ValueError", document, "replies as the standard implementation says"],
  ["invalid parameters are INVALID_PARAMS", document, "rejects parameters with the error of INVALID_PARAMS"],
  ["other failures are INTERNAL_ERROR with their message", document, "replies as the standard implementation says"],
  // Parameters
  ["fields have defaults", document, "fills in the defaults of every type of field"],
  ["fields have the constraints gt, lt and ge", document, "rejects a parameter that breaks"],
  ["fields are str, int, float, bool, list, dict and AnyUrl", document, "rejects a parameter that breaks"],
  ["fields are files, in a form", served, "takes one file, an optional one and several"],
  // config.yaml
  ["enabled", document, "respects enabled: false"],
  ["description and usage", document, "has the description and the usage of config.yaml"],
  ["packages are installed at the start", served, "fetches a page"],
  ["packages have versions after ==", packages, '"requests==2.31.0"'],
  ["packages without valid versions are reported", document, '"wrong_version"'],
  // Examples
  ["the text counter", served, "replies to the two requests"],
  ["the file analyzer", served, "replies to the two requests"],
  // Loading
  ["packages are installed by uv, before packs are loaded", "adapters/packs/python/uv.test.ts", "installs with uv"],
  ["the module is imported, its class is made and registered", contract, "declares its route and its tool"],
  ["every route is registered with the key of the server", document, "requires the key of the server"],
  ["a changed or new pack is loaded", "adapters/packs/python/reloads.test.ts", "leaves no process"],
  // Imports
  ["the documented imports", document, "accepts every import that the document names"],
  // Questions
  ["the log has what is wrong with a pack", document, "tells what is wrong with the pack"],
  ["a failed installation has a reason", installer, "tells the line of pip that says why it fails"],
  ["an index without access is a reason", installer, "tells why pip cannot reach the index"],
  ["two packs have one endpoint", document, '"taken"'],
  ["an upload works without use_form", document, "even if the route does not say so"],
  ["logger.info writes to the log", contract, "logs what it prints and logs"],
  ["GET /tools lists the tools", served, "lists them"],
  // Requests
  ["a request with JSON", served, "replies to the two requests"],
  ["a request with a form and a file", served, "replies to the two requests"],
  ["X-API-Key has the key", document, "requires the key of the server"],
  // Environment
  ["AUTOMATA_API_KEY, PORT and TOOLS_DIR in .env", command, "with variables of a .env file"],
  ["HOST", command, "requires a key from the environment or a .env file"],
  // Best practices
  ["methods are async", contract, "calls its tool several times at once"],
  ["errors are McpError with a clear message", contract, "reports what the tool rejects"],
  ["resources are cleaned up", contract, "leaves no process behind"]
]

describe("tool specification", () => {
  it.each(statements)("has a test that %s", (_statement, file, title) => {
    assert.include(readFileSync(join(tests, file), "utf8"), title)
  })
})
