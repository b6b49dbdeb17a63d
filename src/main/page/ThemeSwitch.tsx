import { useState } from "preact/hooks"
import { Select } from "./parts/controls.tsx"
import { readSetting, writeSetting } from "./connection/storage.ts"

const themes = ["system", "light", "dark"] as const
type Theme = (typeof themes)[number]

const themeKey = "a2c.theme"

const storedTheme = (): Theme => themes.find((theme) => theme === readSetting(themeKey)) ?? "system"

/** Sets the colours of the whole page; `system` follows the preference of the browser. */
export const applyTheme = (theme: Theme = storedTheme()): void => {
  document.documentElement.dataset["theme"] = theme
}

/** Chooses the colours, and keeps the choice. */
export const ThemeSwitch = () => {
  const [theme, setTheme] = useState(storedTheme)
  const choose = (word: string) => {
    const chosen = themes.find((one) => one === word) ?? "system"
    setTheme(chosen)
    applyTheme(chosen)
    writeSetting(themeKey, chosen)
  }
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
