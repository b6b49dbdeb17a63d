import { useLayoutEffect } from "preact/hooks"
import { Select } from "./parts/controls.tsx"
import { useSetting } from "./connection/storage.ts"

const themes = ["system", "light", "dark"] as const

/** Chooses the colours of the whole page, and keeps the choice; `system` follows the preference of the browser. */
export const ThemeSwitch = () => {
  const [stored, choose] = useSetting("a2c.theme")
  const theme = themes.find((one) => one === stored) ?? "system"
  useLayoutEffect(() => void (document.documentElement.dataset["theme"] = theme), [theme])
  return (
    <label>
      <span class="theme-label">Colours</span>{" "}
      <Select
        attributes={{ class: "small" }}
        value={theme}
        options={themes.map((one) => [one, one])}
        onSelect={choose}
      />
    </label>
  )
}
