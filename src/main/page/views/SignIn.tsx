import type { TargetedSubmitEvent } from "preact"
import { stringOrEmpty } from "../../../domain/json.ts"
import { signIn, useAction } from "../connection/api.ts"
import { connect } from "../connection/connect.ts"
import { Command } from "../parts/missing.tsx"
import { visibleLine } from "../parts/visibleText.ts"

/** Asks for the key of an operator. */
export const SignIn = () => {
  const { error, isRunning, run } = useAction<void>()
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const token = stringOrEmpty(new FormData(event.currentTarget).get("token"))
    run(() => signIn(token.trim()).then(connect))
  }
  return (
    <form class="card sign-in" onSubmit={submit}>
      <h1>Sign in</h1>
      <p>This Server requires credentials. The page needs a key or token with the right operator:</p>
      <Command text="a2c server key --add keys.json --subject me --right operator" />
      <div class="row field">
        <label for="token">Key or token</label>
        <input
          id="token"
          name="token"
          type="password"
          autocomplete="current-password"
          required
          aria-describedby="sign-in-error"
        />
      </div>
      <p id="sign-in-error" class="error" role="alert">
        {error?.code === 401
          ? "The Server rejected the key. It must be valid, and have the right operator."
          : error && visibleLine(error.message)}
      </p>
      <button type="submit" class="primary" disabled={isRunning}>
        Sign in
      </button>
    </form>
  )
}
