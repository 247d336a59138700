import 'katex/dist/katex.css'
import Layout from './Layout.vue'
import './base.css'
import './code.css'
import './layout.css'

export default { Layout }
