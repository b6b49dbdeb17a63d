/** Offices and names in inputs: few, to make them collide. */
const office = { office_id: "o-0" }

const call = (more: object) => ({ agent: "a-0", req_id: "r-1", computer: "c-0", ...more })

const event = (name: string, body: unknown, id: number | "" = 7): string =>
  `2/smcp,${id}${JSON.stringify([name, body])}`

/** Bodies of Agent requests. */
const requests: ReadonlyArray<readonly [event: string, body: unknown]> = [
  ["client:tool_call", call({ tool_name: "echo", params: { text: "hi", list: [1, { a: null }] }, timeout: 5 })],
  ["client:get_tools", call({})],
  ["client:get_config", call({})],
  ["client:get_desktop", call({ desktop_size: 3, window: "window://app/notes" })],
  ["client:get_dpe", call({ uri: "dpe://host/doc", timeout: 10 })],
  ["client:get_resources", call({ mcp_server: "files", cursor: "1" })],
  ["client:get_finder", call({ host: "host" })],
  ["client:something_new", call({ more: true })]
]

/** Packets of members, some of them not permitted. */
export const packets: ReadonlyArray<string> = [
  '0/smcp,{"role":"agent"}',
  '0/smcp,{"role":"computer","token":"t","instance":"i"}',
  "0/smcp,",
  '0/other,{"a":1}',
  "0",
  "1/smcp,",
  event("server:join_office", { role: "agent", name: "a-0", ...office }),
  event("server:join_office", { role: "computer", name: "c-0", ...office }),
  event("server:leave_office", office),
  event("server:list_room", { agent: "a-0", req_id: "r-2", ...office }),
  event("server:tool_call_cancel", { agent: "a-0", req_id: "r-1" }, ""),
  ...["config", "tool_list", "desktop", "finder"].map((part) =>
    event(`server:update_${part}`, { computer: "c-0" }, "")
  ),
  ...requests.map(([name, body]) => event(name, body)),
  event("client:tool_call", call({ tool_name: "t", params: { long: "x".repeat(3000) }, timeout: 60 })),
  '2/smcp,1[ "client:get_tools" , { "agent" : "a" } ] ',
  '2/smcp,1["client:get_tools",{"a":1},{"b":2}]',
  '2/smcp,1["client:get_tools"]',
  '2["client:get_tools",{}]',
  '3/smcp,1[{"content":[{"type":"text","text":"hi"}],"isError":false}]',
  '3/smcp,1[{"tools":[{"name":"echo","description":"","params_schema":{"type":"object"}}],"req_id":"r-1"}]',
  '3/smcp,2[{"code":404,"message":"no"}]',
  "3/smcp,1[true,null]",
  `3/smcp,3[{"x":"${"y".repeat(2000)}"}]`,
  "3/smcp,1[]",
  '51-/smcp,1["client:get_tools",{"_placeholder":true,"num":0}]',
  '61-/smcp,1[{"_placeholder":true,"num":0}]',
  '4/smcp,{"message":"no"}'
]

/** Tokens of packets. */
export const packetWords: ReadonlyArray<string | Buffer> = [
  ["/smcp,", "/"],
  ["0", "1", "2", "3", "4", "5", "6"],
  ["16-", "17-", "b"],
  ["\u001e", "\\u001e"],
  ['"__proto__":', '{"__proto__":{"a":1}}', '"\\ud800"'],
  ['\\"', "\\\\"],
  [",", "[", "]", "{", "}"],
  ['"a":', "null", "1e999"],
  ["\u2028", "\ufeff"],
  ["client:", "server:join_office", "notify:update_desktop"],
  ["constructor", "999999999999999", '{"toString":1}', '"req_id":"', " \n\t"]
].flat()
