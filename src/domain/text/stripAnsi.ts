/** Control sequences of terminals: colours and cursor movements, titles and links, and the short ones. */
const controlSequences = new RegExp(
  [
    String.raw`(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]`,
    String.raw`(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)`,
    String.raw`\u001b[ -/]*[0-Z\\-~]`
  ].join("|"),
  "g"
)

/** Removes the control sequences of terminals. Incomplete ones remain, and are shown as escapes. */
export const stripAnsi = (text: string): string => text.replaceAll(controlSequences, "")
