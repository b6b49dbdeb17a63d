/** The conformance cases of a Computer: those of sections 8 to 18 about the Computer under test. */
export const computerCases =
  "126 to 152, 159 to 163, 165 to 188, 193 to 275, 277 to 283, 285 to 333, 335, 338, 342, 343, 346, 352, 359"

/** The cases that do not apply to a Computer of functions, and why. */
export const declaredCases: ReadonlyArray<readonly [cases: string, reason: string]> = [
  [
    "128, 129, 138, 166 to 172, 180, 181, 183 to 185, 301",
    "There is no configuration of MCP servers: `policy`, `approve` and `offer` decide what runs."
  ],
  ["131", "A function has no JSON-RPC errors: what it throws is the text of an error result."],
  ["132", "A function ends with its page, and so does its Computer: lostPages.test.ts."],
  ["144 to 146", "There are no VRL scripts."],
  ["147 to 151", "There are no MCP servers over HTTP, which could reject a call."],
  ["175 to 177", "The definition of a function has no `_meta`."],
  ["182, 241 to 245, 247, 253, 273, 286, 287, 324", "All functions are those of one server."],
  ["186, 259, 297, 302", "One page lists all functions, so there are no cursors."],
  ["193 to 201, 203 to 217", "There are no configuration files, endpoints, placeholders and inputs."],
  ["219 to 223, 226 to 228", "The parser of window URIs is a pure function: test/domain/desktop."],
  ["231, 233 to 235, 248", "A window has exactly one text."],
  ["236, 272", "A window with an invalid URI cannot be offered: case 225."],
  ["238, 300, 304, 328", "The server of functions always has resources and subscriptions."],
  ["260 to 263", "The definition of a window has neither annotations nor `_meta`: its URI has the parameters."],
  ["270, 303", "There are only windows and documents: no other resources, and no templates."],
  ["278", "There always is a resolver: the one that takes the URL of a document."],
  ["281", "The name of a document is one segment: case 282."],
  ["325 to 327", "The definition of a document has no time of its last change."],
  ["346", "No method emits an event of the program's choice."]
]
