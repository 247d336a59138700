// Opens the search: by its button, by / or by Ctrl+K.
const open = async () => (await import('./search.js')).open()

document.querySelector('.search-button').addEventListener('click', open)
addEventListener('keydown', (event) => {
  const typing = event.target.closest?.('input:not([type=range], [type=file]), textarea, select, [contenteditable]')
  const slash = event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey
  if (!slash && !((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k')) return
  event.preventDefault()
  open()
})
