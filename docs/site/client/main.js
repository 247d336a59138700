// What every page runs. Search and figures are loaded when they are wanted.
import './dark.js'
import './menu.js'
import './copy.js'
import './search_keys.js'
import './step_code.js'
import './figures.js'
