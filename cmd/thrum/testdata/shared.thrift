namespace go shared

struct Author { 1: string name }
