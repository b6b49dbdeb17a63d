import type { TargetedSubmitEvent } from "preact"
import { useState } from "preact/hooks"
import { pageErrorOf, signIn } from "../connection/api.ts"
import { connect } from "../connection/connect.ts"
import { visibleLine } from "../parts/visibleText.ts"

/** Asks for the key of an operator. */
export const SignIn = () => {
  const [error, setError] = useState<string>()
  const [isSending, setSending] = useState(false)
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const token = new FormData(event.currentTarget).get("token")
    setSending(true)
    setError(undefined)
    signIn(typeof token === "string" ? token.trim() : "")
      .then(connect)
      .catch((failure: unknown) => {
        const { code, message } = pageErrorOf(failure)
        setError(
          code === 401
            ? "The Server rejected the key. It must be valid, and have the right operator."
            : visibleLine(message)
        )
      })
      .finally(() => setSending(false))
  }
  return (
    <form class="card sign-in" onSubmit={submit}>
      <h1>Sign in</h1>
      <p>This Server requires credentials. The page needs a key or token with the right operator:</p>
      <pre>
        <code>a2c server key --add keys.json --subject me --right operator</code>
      </pre>
      <div class="field">
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
        {error}
      </p>
      <button type="submit" class="primary" disabled={isSending}>
        Sign in
      </button>
    </form>
  )
}
