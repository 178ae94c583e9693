struct A {
  1: string name = "unclosed
  2: string other = "fine"
  3: string third = 'also unclosed"
}

const string X = "x" 
