struct Amount { 1: string text }
