import { type ChildProcess, spawn } from "node:child_process"
import { Socket } from "node:net"

/** Waits for a line, and kills the process of this number when the pipe ends without one. */
const script = 'read -r released || kill -9 "$0"'

/**
 * Ends a process that we have started as soon as we are gone, however that came: by our own end, by a signal, by
 * `kill -9`. A process that stands still is ended, too. What it has started itself must notice that by itself.
 *
 * A shell outside of our terminal's group holds the other end of a pipe, which the system closes with us.
 */
export const leash = <Child extends ChildProcess>(child: Child): Child => {
  const { pid } = child
  if (pid === undefined) return child
  const shell = spawn("sh", ["-c", script, String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true
  })
  // Where there is no shell, whoever started the process still ends it in the usual ways.
  shell.on("error", () => undefined)
  shell.stdin.on("error", () => undefined)
  child.once("exit", () => shell.stdin.end("\n"))
  // Nobody waits for it.
  shell.unref()
  if (shell.stdin instanceof Socket) shell.stdin.unref()
  return child
}
