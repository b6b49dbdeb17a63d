import { render } from "preact"
import { App } from "./App.tsx"
import { playNewApprovals } from "./connection/approvalSound.ts"
import { connect, watchOffice } from "./connection/connect.ts"

render(<App />, document.body)
watchOffice()
playNewApprovals()
void connect()
