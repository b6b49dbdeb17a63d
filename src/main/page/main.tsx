import { render } from "preact"
import { App } from "./App.tsx"
import { playNewApprovals } from "./connection/approvalSound.ts"
import { connect, watchOffice } from "./connection/connect.ts"
import { applyTheme } from "./ThemeSwitch.tsx"

applyTheme()
render(<App />, document.body)
watchOffice()
playNewApprovals()
void connect()
