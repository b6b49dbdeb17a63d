import { defineConfig, type DefaultTheme } from "vitepress"
import { configureMarkdown, writeMarkdown } from "../markdown.ts"
import {
  chineseNavigation,
  frontPage,
  type Group,
  navigation,
  otherDocuments,
  pages,
  repository,
  slugify
} from "../pages.ts"
import { search } from "../search.ts"

/** The path of the site on its host; GitHub Pages takes the name of the repository. */
const base = "/a2c-smcp/"

const sidebarOf = (groups: ReadonlyArray<Group>): Array<DefaultTheme.SidebarItem> =>
  groups.map(({ items, text }) => ({
    text,
    items: items.map((item) => ({ text: item.text, link: `/${pages.get(item.file)}` }))
  }))

const chinese = {
  zh: {
    label: "简体中文",
    lang: "zh-CN",
    themeConfig: {
      sidebar: sidebarOf([...chineseNavigation, ...navigation.filter(({ text }) => text === "Reference")])
    }
  }
}

export default defineConfig({
  base,
  title: "a2c-smcp",
  description: "Use the tools of many machines from one agent",
  srcDir: "..",
  srcExclude: ["!(docs|bench|site)/**/*.md", ...otherDocuments],
  outDir: "../node_modules/.cache/site",
  cacheDir: "../node_modules/.cache/vitepress",
  rewrites: (id) => (id === frontPage.file ? frontPage.path : (pages.get(id) ?? id)),
  locales: { root: { label: "English", lang: "en" }, ...(chineseNavigation.length > 0 && chinese) },
  markdown: {
    config: configureMarkdown,
    anchor: { slugify },
    attrs: { disable: true },
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" }
  },
  vite: { build: { chunkSizeWarningLimit: 4096 }, esbuild: { tsconfigRaw: {} } },
  themeConfig: {
    nav: [
      { text: "Guide", link: "/overview.md" },
      { text: "Tutorial", link: "/tutorial.md" },
      { text: "Reference", link: "/reference/commands.md" },
      { text: "Changelog", link: "/changelog.md" }
    ],
    sidebar: sidebarOf(navigation),
    // Not every page has a translation: the menu of languages leads to the first page of a language.
    i18nRouting: false,
    outline: [2, 3],
    search: { provider: "local", options: { miniSearch: search } },
    socialLinks: [{ icon: "github", link: repository }]
  },
  transformHead: ({ pageData: { isNotFound, relativePath } }) =>
    isNotFound === true
      ? []
      : [
          [
            "link",
            {
              rel: "alternate",
              type: "text/markdown",
              href: `${base}${relativePath === frontPage.path ? frontPage.text : relativePath}`
            }
          ]
        ],
  buildEnd: ({ outDir }) => writeMarkdown(outDir, base)
})
