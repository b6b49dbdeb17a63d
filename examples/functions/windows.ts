/** Offers windows and a document of a page. */
import { joinAsComputer, pageWindow } from "a2c-smcp/computer"

const computer = await joinAsComputer({
  url: "http://127.0.0.1:7070",
  office: "team",
  name: "page",
  windows: [
    { name: "cart", title: "Cart", text: () => "1 shirt", priority: 80 },
    // The whole page as a window, which changes with the page.
    pageWindow()
  ],
  documents: [
    { name: "terms.pdf", title: "Terms", pages: 3, read: () => new URL("https://shop.example.org/terms.pdf") }
  ]
})
// The text of a function has changed. A signal announces its changes itself.
computer.changed("cart")
